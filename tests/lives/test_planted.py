"""Bugs that a session shows only when it is old are found by long lives."""

from __future__ import annotations

import pytest

from accord import compile
from accord.calls import overtaking
from accord.integrations.guard import codec, ending, reserving, reviewing
from accord.machine import rule_forms
from tests.lives.campaign import CONTRACTS, campaign
from tests.lives.scenes import SCENES
from tests.lives.tables import Seen


def calls_that_have_run_are_remembered_one_too_few(monkeypatch):
    monkeypatch.setattr(ending, "REMEMBERED", ending.REMEMBERED - 1)


def answers_that_were_not_used_are_remembered_one_too_many(monkeypatch):
    monkeypatch.setattr(reviewing, "_MOST_UNUSED", reviewing._MOST_UNUSED + 1)


def reviews_that_are_over_are_remembered_one_too_few(monkeypatch):
    monkeypatch.setattr(reviewing, "_REMEMBERED", reviewing._REMEMBERED - 1)


def the_numbers_of_reviews_begin_again(monkeypatch):
    original = reviewing.put_on_desk

    def put(state, opened, at):
        after = original(state, opened, at)
        return after._replace(desk=after.desk._replace(numbered=after.desk.numbered % 700))

    monkeypatch.setattr(reviewing, "put_on_desk", put)


def tickets_begin_again(monkeypatch):
    original = reserving._Deciding._admit

    def admit(self, *arguments):
        decision = original(self, *arguments)
        self.state = self.state._replace(desk=self.state.desk._replace(numbered=self.state.desk.numbered % 200))
        return decision

    monkeypatch.setattr(reserving._Deciding, "_admit", admit)


def digests_are_cut_short(monkeypatch):
    original = reviewing.digest_of
    monkeypatch.setattr(reviewing, "digest_of", lambda label, payload: original(label, payload)[:3])


def a_limit_is_counted_in_a_byte(monkeypatch):
    original = rule_forms._AtMostForm.step

    def step(self, state, *rest):
        after = original(self, state, *rest)
        return after and after._replace(extra=after.extra % 128)

    monkeypatch.setattr(rule_forms._AtMostForm, "step", step)


def what_is_kept_of_a_session_forgets_old_calls(monkeypatch):
    original = codec.write
    monkeypatch.setattr(
        codec, "write", lambda state: original(state._replace(desk=state.desk._replace(done=state.desk.done[-60:])))
    )


def what_makes_a_difference_goes_before_a_lost_call(monkeypatch):
    monkeypatch.setattr(overtaking, "_is_the_same", lambda world, _logged, steps: overtaking._through(world, steps))


PLANTED = {
    calls_that_have_run_are_remembered_one_too_few: "bookings",
    answers_that_were_not_used_are_remembered_one_too_many: "transfers",
    reviews_that_are_over_are_remembered_one_too_few: "payments",
    the_numbers_of_reviews_begin_again: "transfers",
    tickets_begin_again: "bookings",
    digests_are_cut_short: "transfers",
    a_limit_is_counted_in_a_byte: "coding",
    what_is_kept_of_a_session_forgets_old_calls: "bookings",
    what_makes_a_difference_goes_before_a_lost_call: "support",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_that_only_an_old_session_shows_is_found(plant, monkeypatch, health):
    seen = Seen()
    plant(monkeypatch)
    # What was remembered of a contract before would hide the bug.
    monkeypatch.setitem(CONTRACTS, PLANTED[plant], compile(SCENES[PLANTED[plant]].contract))
    difference = campaign([(PLANTED[plant], f"planted {n}", 5_000, None, "memory") for n in range(2)], seen)
    assert difference is not None
    assert "it broke" not in difference, difference
    health(f"planted: {plant.__name__} is found: {difference.partition(':')[0]}")
