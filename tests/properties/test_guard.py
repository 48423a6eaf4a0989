"""Guards decide as an obvious reference does, in memory as in a store; and bugs that are planted in them are found."""

from __future__ import annotations

import pytest

from accord.calls import footprint as footprints
from accord.calls import state as calling
from accord.calls import worlds
from accord.calls.entries import Firm, Out, Passing
from accord.calls.state import Calls
from accord.calls.worlds import take
from accord.integrations.guard import codec, ending, reserving, reviewing, session, tool_events
from accord.integrations.guard.decisions import Change
from accord.integrations.guard.reserving import _Deciding
from accord.integrations.guard.state import Review, State
from accord.monitor.verdicts import OK
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


def only_worlds_where(monkeypatch, keep):
    """Worlds in which calls that are out have another fate are not looked at; `keep` is a call as it is then."""

    def looked(original):
        return lambda settled, log, *rest, **options: original(settled, tuple(keep(log)), *rest, **options)

    monkeypatch.setattr(calling, "worlds", looked(worlds.worlds))
    monkeypatch.setattr(calling, "worlds_about", looked(worlds.worlds_about))


def no_raising(monkeypatch):
    """What is illegal in a world changes nothing there: the bug is to be found by what it does."""
    monkeypatch.setattr(worlds, "_after", lambda world, what: take(world, what)[0])


def every_call_that_is_out_counts(monkeypatch):
    no_raising(monkeypatch)
    only_worlds_where(
        monkeypatch, lambda log: [each._replace(failure="done") if isinstance(each, Out) else each for each in log]
    )


def every_call_that_is_out_fails(monkeypatch):
    no_raising(monkeypatch)
    only_worlds_where(monkeypatch, lambda log: [each for each in log if isinstance(each, Firm)])


def the_calls_of_a_batch_are_judged_each_by_itself(monkeypatch):
    no_raising(monkeypatch)
    judged, looked = _Deciding._judge, Calls.judge

    def judge(self, *arguments, **options):
        start = self.__dict__.setdefault("start", self.state)
        with monkeypatch.context() as patch:
            patch.setattr(Calls, "judge", lambda _self, event: looked(start.calls, event))
            return judged(self, *arguments, **options)

    monkeypatch.setattr(_Deciding, "_judge", judge)


def the_ends_of_calls_that_are_out_are_not_foreseen(monkeypatch):
    no_raising(monkeypatch)
    monkeypatch.setattr(tool_events.ToolEvents, "ends", lambda _self, _name, _failure: ())


def the_ends_of_calls_that_are_lost_are_not_foreseen(monkeypatch):
    no_raising(monkeypatch)
    only_worlds_where(
        monkeypatch, lambda log: [each._replace(ends=()) if getattr(each, "lost", None) else each for each in log]
    )


def what_is_received_is_judged_as_if_calls_had_ended(monkeypatch):
    original = worlds.worlds
    monkeypatch.setattr(worlds, "worlds", lambda settled, log, **_options: original(settled, log))


def footprints_miss_rules(monkeypatch):
    no_raising(monkeypatch)
    original = footprints._touched

    def touched(stages, event, called):
        parts = original(stages, event, called)
        return parts and {part for part in parts if part[0] != "rule"}

    monkeypatch.setattr(footprints, "_touched", touched)


def footprints_miss_the_protocol(monkeypatch):
    no_raising(monkeypatch)
    original = footprints._touched

    def touched(stages, event, called):
        parts = original(stages, event, called)
        return parts and {part for part in parts if part[0] != "protocol"}

    monkeypatch.setattr(footprints, "_touched", touched)


def footprints_miss_slices(monkeypatch):
    no_raising(monkeypatch)
    original = footprints._touched

    def touched(stages, event, called):
        parts = original(stages, event, called)
        return parts and {part for part in parts if part[0] not in {"slice", "instance"}}

    monkeypatch.setattr(footprints, "_touched", touched)


def a_cover_drops_one_situation_too_many(monkeypatch):
    no_raising(monkeypatch)
    original = worlds._cover

    def cover(situations, touched):
        kept = original(situations, touched)
        return kept[:-1] if len(kept) > 1 else kept

    monkeypatch.setattr(worlds, "_FEW", 1)  # so that there is something to drop
    monkeypatch.setattr(worlds, "_cover", cover)


def a_cover_looks_at_the_protocol_alone(monkeypatch):
    no_raising(monkeypatch)
    monkeypatch.setattr(worlds, "_FEW", 1)
    monkeypatch.setattr(worlds, "parts", lambda situation, _touched: [situation.stage.standing, type(situation.place)])


def what_is_certain_overtakes_a_call_with_a_part_in_common(monkeypatch):
    no_raising(monkeypatch)

    def fold(settled, log):
        left, barrier = [], set()
        for logged in log:  # one part that is not in common is enough to overtake
            if isinstance(logged, Firm) and (not left or (logged.touches is not None and logged.touches - barrier)):
                settled = take(settled, logged.step)[0]
                continue
            left.append(logged)
            barrier |= logged.touches or set()
        return settled, tuple(left)

    monkeypatch.setattr(calling, "fold", fold)


def an_unknown_call_is_treated_as_undone(monkeypatch):
    def release(policy, state, ticket, *rest, **options):
        out = state.out(ticket)
        if out is not None and out.failure == "unknown":
            log = tuple([out._replace(failure="undone") if logged is out else logged for logged in state.log])
            state = state._replace(log=log)
        return released(policy, state, ticket, *rest, **options)

    released = ending.release
    monkeypatch.setattr(ending, "release", release)


def an_unknown_call_is_treated_as_done(monkeypatch):
    def release(policy, state, ticket, *rest, **options):
        out = state.out(ticket)
        if out is not None and out.failure == "unknown" and out.lost is None:
            log = tuple([out._replace(failure="done") if logged is out else logged for logged in state.log])
            state = state._replace(log=log)
        return released(policy, state, ticket, *rest, **options)

    released = ending.release
    monkeypatch.setattr(ending, "release", release)


def a_lost_call_has_ended_when_that_was_said(monkeypatch):
    def found(self, out, end):
        counted = self.counted(out)
        return (counted, OK) if end is None else counted.happened(end)

    no_raising(monkeypatch)
    monkeypatch.setattr(Calls, "found", found)


def people_are_asked_about_what_is_known(monkeypatch):
    monkeypatch.setattr(ending, "answered", lambda desk, _ticket: desk)


def what_stands_behind_a_held_call_overtakes_it(monkeypatch):
    original = reserving.reserve

    def reserve(policy, state, claims, at, *, ahead, **manner):
        decisions, notes = [], ()
        for claim in claims:
            change = original(policy, state, [claim], at, ahead=ahead, **manner)
            state, notes = change.state, notes + change.notes
            decisions += change.answer
            ahead = (*ahead, *(d.ticket for d in change.answer if d.ticket is not None))
        return Change(state, notes, decisions)

    monkeypatch.setattr(reserving, "reserve", reserve)


def what_is_certain_overtakes_what_is_not(monkeypatch):
    def fold(settled, log):
        for logged in log:
            if isinstance(logged, Firm):
                settled = take(settled, logged.step)[0]
        return settled, tuple(logged for logged in log if isinstance(logged, Out))

    no_raising(monkeypatch)
    monkeypatch.setattr(calling, "fold", fold)


def a_call_that_failed_counts(monkeypatch):
    monkeypatch.setattr(session.LiveSession, "fail", lambda self, ticket, error, **_: self.keep(ticket, error))


def a_call_that_nobody_knows_of_does_not_count(monkeypatch):
    monkeypatch.setattr(session.LiveSession, "keep", session.LiveSession.fail)


def another_call_is_taken_back(monkeypatch):
    original = ending.release

    def release(policy, state, ticket, *rest, **options):
        out = [logged.ticket for logged in state.log if isinstance(logged, Out)]
        return original(policy, state, out[-1] if ticket in out else ticket, *rest, **options)

    monkeypatch.setattr(ending, "release", release)


def what_has_run_is_forgotten(monkeypatch):
    original = ending.settle

    def settle(*rest, **options):
        change = original(*rest, **options)
        return change._replace(state=change.state._replace(desk=change.state.desk._replace(done=())))

    monkeypatch.setattr(ending, "settle", settle)


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
    no_raising(monkeypatch)
    original = Calls.judge

    def judge(self, event):
        log = self.log if event.direction == "!" else tuple(each for each in self.log if isinstance(each, Firm))
        return original(Calls(self.settled, log), event)

    monkeypatch.setattr(Calls, "judge", judge)


def an_approval_is_not_used_up(monkeypatch):
    monkeypatch.setattr(reserving, "use", lambda desk, _numbers: desk)


def an_approval_is_for_any_payload(monkeypatch):
    original = reviewing.digest_of
    monkeypatch.setattr(reviewing, "digest_of", lambda label, _payload: original(label, {}))


def one_approval_is_good_for_two(monkeypatch):
    def reviews_of(living, gates, meant, _):
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
    monkeypatch.setattr(ending, "REMEMBERED", 4)


def a_store_forgets_who_has_started(monkeypatch):
    original = codec._write_logged
    monkeypatch.setattr(
        codec,
        "_write_logged",
        lambda logged: original(logged._replace(started=False) if isinstance(logged, Out) else logged),
    )


def a_store_forgets_what_is_lost(monkeypatch):
    original = codec._write_logged
    monkeypatch.setattr(
        codec,
        "_write_logged",
        lambda logged: original(logged._replace(lost=None) if isinstance(logged, Out) else logged),
    )


def a_store_forgets_what_has_run(monkeypatch):
    original = codec.write
    monkeypatch.setattr(codec, "write", lambda state: original(state._replace(desk=state.desk._replace(done=()))))


PLANTED = {
    every_call_that_is_out_counts: "plain",
    every_call_that_is_out_fails: "plain",
    the_calls_of_a_batch_are_judged_each_by_itself: "plain",
    the_ends_of_calls_that_are_out_are_not_foreseen: "plain",
    the_ends_of_calls_that_are_lost_are_not_foreseen: "rules",
    what_is_received_is_judged_as_if_calls_had_ended: "rules",
    footprints_miss_rules: "rules",
    footprints_miss_the_protocol: "plain",
    footprints_miss_slices: "slices",
    a_cover_drops_one_situation_too_many: "plain",
    a_cover_looks_at_the_protocol_alone: "slices",
    what_is_certain_overtakes_a_call_with_a_part_in_common: "rules",
    an_unknown_call_is_treated_as_undone: "plain",
    an_unknown_call_is_treated_as_done: "plain",
    a_lost_call_has_ended_when_that_was_said: "plain",
    people_are_asked_about_what_is_known: "people",
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
    a_store_forgets_what_is_lost: "plain",
    a_store_forgets_what_has_run: "plain",
}


@pytest.mark.usefixtures("failures_inside_are_no_evidence", "only_what_ledgers_hold")
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_planted_bug_in_the_guard_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    seen, difference = campaign(7, 1_500, PLANTED[plant])
    assert difference is not None, seen.sentence()
