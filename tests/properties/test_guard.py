"""Guards decide as an obvious reference does, in memory as in a store; and bugs that are planted in them are found."""

from __future__ import annotations

import pytest
from accord.integrations.guard.worlds import take

from accord.integrations.guard import codec, ending, reserving, reviewing, session, worlds
from accord.integrations.guard.decisions import Change
from accord.integrations.guard.reserving import _Deciding
from accord.integrations.guard.state import Firm, Out, Passing, Review, State
from tests.properties.guarding import Health, campaign

SESSIONS = {
    "plain": 15, "people": 75, "data": 12, "rules": 12, "data and rules": 12, "time": 24, "slices": 12,
    "slices time": 12, "life": 140,
}  # fmt: skip


@pytest.mark.usefixtures("only_what_ledgers_hold")
def test_guards_decide_as_the_reference_does(soak, health):
    seen = Health()
    for seed in range(1, 5):  # again, where something was never met so far
        for flavour, sessions in SESSIONS.items():
            seen, difference = campaign(seed, sessions * (30 if soak else 1), flavour, seen)
            assert difference is None, difference
        if seen.is_full:
            break
    health(seen.sentence())
    health(seen.ends.table())
    health(seen.lives.table())
    seen.check_floors()


@pytest.fixture(name="failures_inside_are_no_evidence")
def _failures_inside_are_no_evidence(monkeypatch):
    """A planted bug that makes the guard fail inside would be noticed by anything: here it fails the test."""
    original = session.Blocked

    def blocked(reason):
        assert "failed inside" not in reason, f"the planted bug is broken itself: {reason}"
        return original(reason)

    monkeypatch.setattr(session, "Blocked", blocked)


# -- bugs --------------------------------------------------------------------------------------------------------------


def every_call_that_is_out_counts(monkeypatch):
    original = worlds.worlds
    monkeypatch.setattr(reserving, "worlds", lambda state: original(state)[:1])


def every_call_that_is_out_fails(monkeypatch):
    original = worlds.worlds
    monkeypatch.setattr(reserving, "worlds", lambda state: original(state)[-1:])


def the_calls_of_a_batch_are_judged_each_by_itself(monkeypatch):
    judged, looked = _Deciding._judge, reserving.worlds

    def judge(self, *arguments, **options):
        start = self.__dict__.setdefault("start", self.state)
        with monkeypatch.context() as patch:
            patch.setattr(reserving, "worlds", lambda _state: looked(start))
            return judged(self, *arguments, **options)

    monkeypatch.setattr(_Deciding, "_judge", judge)


def what_stands_behind_a_held_call_overtakes_it(monkeypatch):
    original = reserving.reserve

    def reserve(policy, state, claims, at, *, started, can_wait, ahead):
        decisions, notes = [], ()
        for claim in claims:
            change = original(policy, state, [claim], at, started=started, can_wait=can_wait, ahead=ahead)
            state, notes = change.state, notes + change.notes
            decisions += change.answer
            ahead = ahead or change.answer[0].ticket is not None
        return Change(state, notes, decisions)

    monkeypatch.setattr(reserving, "reserve", reserve)


def what_is_certain_overtakes_what_is_not(monkeypatch):
    def fold(state):
        settled = state.settled
        for logged in state.log:
            if isinstance(logged, Firm):
                settled = take(settled, logged.step)[0]
        return State(settled, tuple(logged for logged in state.log if isinstance(logged, Out)), state.desk)

    monkeypatch.setattr(worlds, "_after", lambda world, what: take(world, what)[0])
    monkeypatch.setattr(worlds, "fold", fold)
    monkeypatch.setattr(reserving, "fold", fold)


def a_call_that_failed_counts(monkeypatch):
    monkeypatch.setattr(session.LiveSession, "fail", session.LiveSession.keep)


def a_call_that_nobody_knows_of_does_not_count(monkeypatch):
    monkeypatch.setattr(session.LiveSession, "keep", session.LiveSession.fail)


def another_call_is_taken_back(monkeypatch):
    original = ending.release

    def release(policy, state, ticket, *rest, **options):
        out = [logged.ticket for logged in state.log if isinstance(logged, Out)]
        return original(policy, state, out[-1] if ticket in out else ticket, *rest, **options)

    monkeypatch.setattr(reserving, "release", release)


def what_has_run_is_forgotten(monkeypatch):
    original = ending.settle

    def settle(policy, state, *rest):
        change = original(policy, state, *rest)
        return change._replace(state=change.state._replace(desk=change.state.desk._replace(done=())))

    monkeypatch.setattr(reserving, "settle", settle)


def an_id_is_good_for_any_call(monkeypatch):
    original = _Deciding._known

    def known(self, claim, action):
        out = self.state.out(claim.call.id)
        return original(self, claim, action if out is None else out.digest)

    monkeypatch.setattr(_Deciding, "_known", known)


def a_ticket_is_given_twice(monkeypatch):
    original = State.out

    def out(self, ticket):
        return None if ticket.startswith("#") else original(self, ticket)

    admitted = _Deciding._admit

    def admit(self, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(State, "out", out)
            return admitted(self, *arguments)

    monkeypatch.setattr(_Deciding, "_admit", admit)


def a_result_is_judged_as_if_all_calls_failed(monkeypatch):
    original, looked = reserving.happen, worlds.worlds

    def happen(state, event, meta):
        with monkeypatch.context() as patch:
            patch.setattr(reserving, "worlds", lambda state: looked(state)[-1:])
            return original(state, event, meta)

    monkeypatch.setattr(reserving, "happen", happen)


def an_approval_is_not_used_up(monkeypatch):
    monkeypatch.setattr(reserving, "use", lambda desk, _numbers: desk)


def an_approval_is_for_any_payload(monkeypatch):
    original = reviewing.digest_of
    monkeypatch.setattr(reviewing, "digest_of", lambda label, _payload: original(label, {}))


def one_approval_is_good_for_two(monkeypatch):
    def reviews_of(living, gates, meant):
        return tuple(reviewing._review_of(living, gate, meant) for gate in gates)

    monkeypatch.setattr(reviewing, "_reviews_of", reviews_of)


def an_approval_is_for_any_tool(monkeypatch):
    def review_of(living, gate, meant):
        return next((r for r in reversed(living) if r.gate == gate and r.state != "used"), None)

    monkeypatch.setattr(reviewing, "_review_of", review_of)


def an_approval_lasts_for_ever(monkeypatch):
    monkeypatch.setattr(Review, "is_over", lambda _self, _at: False)


def no_is_forgotten(monkeypatch):
    original = reviewing._reviews_of
    monkeypatch.setattr(
        reviewing, "_reviews_of", lambda living, *rest: original([r for r in living if r.state != "denied"], *rest)
    )


def time_passes_for_the_first_world_alone(monkeypatch):
    original = reserving.pass_time

    def pass_time(policy, state, at):
        change = original(policy, state, at)
        log = tuple(logged for logged in change.state.log if not isinstance(getattr(logged, "step", None), Passing))
        return change._replace(state=change.state._replace(log=log))

    monkeypatch.setattr(reserving, "pass_time", pass_time)


def calls_are_remembered_for_a_day(monkeypatch):
    monkeypatch.setattr(reserving, "REMEMBERED", 4)


def a_store_forgets_who_has_started(monkeypatch):
    original = codec._write_logged
    monkeypatch.setattr(
        codec,
        "_write_logged",
        lambda logged: original(logged._replace(started=False) if isinstance(logged, Out) else logged),
    )


def a_store_forgets_what_has_run(monkeypatch):
    original = codec.write
    monkeypatch.setattr(codec, "write", lambda state: original(state._replace(desk=state.desk._replace(done=()))))


PLANTED = {
    every_call_that_is_out_counts: "plain",
    every_call_that_is_out_fails: "plain",
    the_calls_of_a_batch_are_judged_each_by_itself: "plain",
    what_stands_behind_a_held_call_overtakes_it: "rules",
    what_is_certain_overtakes_what_is_not: "rules",
    a_call_that_failed_counts: "plain",
    a_call_that_nobody_knows_of_does_not_count: "plain",
    another_call_is_taken_back: "plain",
    what_has_run_is_forgotten: "plain",
    an_id_is_good_for_any_call: "plain",
    a_ticket_is_given_twice: "plain",
    a_result_is_judged_as_if_all_calls_failed: "plain",
    an_approval_is_not_used_up: "people",
    an_approval_is_for_any_payload: "people",
    one_approval_is_good_for_two: "people",
    an_approval_is_for_any_tool: "people",
    an_approval_lasts_for_ever: "people",
    no_is_forgotten: "people",
    time_passes_for_the_first_world_alone: "time",
    calls_are_remembered_for_a_day: "life",
    a_store_forgets_who_has_started: "plain",
    a_store_forgets_what_has_run: "plain",
}


@pytest.mark.usefixtures("failures_inside_are_no_evidence", "only_what_ledgers_hold")
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_bug_in_the_guard_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    seen, difference = campaign(7, 1_500, PLANTED[plant])
    assert difference is not None, seen.sentence()
