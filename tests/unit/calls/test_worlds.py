"""Which calls concern each other, which situations are enough to look at, and what is certain."""

from __future__ import annotations

import sys

import pytest

from accord import Guard, MemoryStore, Ok, ToolCall, Violation, compile
from accord.calls import worlds as looking
from accord.calls.entries import End, Firm, Out, Passing
from accord.calls.footprint import footprint, located, related
from accord.calls.state import Calls
from accord.calls.worlds import fold, take, worlds
from accord.machine.events import Event
from accord.monitor.step import begin

EACH = 'rule "r" { each path: before Edit require Read }'


def begun(text):
    return begin(compile(text), None, None)


def touched(text, *events):
    return footprint(begun(text).stage.stages, events)


def out(label, payload=None, ends=(), failure="undone", ticket="t"):
    event = Event("!", label, None, payload or {})
    return Out(ticket, label, event.payload, "", (event,), started=True, failure=failure, ends=ends)


# -- footprints --------------------------------------------------------------------------------------------------------


def test_an_event_touches_the_protocol_and_the_rules_that_watch_it():
    text = 'protocol P = rec L.{!a.L, !b.L} rule "one" { at most 2 a } rule "two" { at most 2 b }'
    assert touched(text, Event("!", "a")) == {("protocol",), ("rule", 0)}
    assert touched(text, Event("!", "a"), Event("!", "b")) == {("protocol",), ("rule", 0), ("rule", 1)}


def test_under_rules_alone_there_is_no_protocol_to_touch():
    assert touched('rule "one" { at most 2 a }', Event("!", "b")) == set()


def test_what_only_goes_to_the_rules_leaves_the_protocol_alone():
    text = 'protocol P = rec L.!a.L rule "one" { before b require ?a }'
    assert touched(text, Event("?", "a", to_rules=True)) == {("rule", 0)}


def test_a_rule_about_what_follows_at_once_is_touched_by_everything():
    text = 'rule "one" { forbid a then b }'
    assert touched(text, Event("!", "c")) == {("rule", 0)}


def test_of_slices_the_instance_is_touched():
    assert touched(EACH, Event("!", "Read", None, {"path": "x"})) == {("slice", 0, "x")}
    assert touched("protocol P = each k: !a.end", Event("!", "a", None, {"k": 1})) == {("instance", 1)}


def test_an_end_is_in_the_slice_of_its_call():
    stages = begun('rule "r" { each path: before Edit require ?Read }').stage.stages
    call = located(stages, out("Read", {"path": "x"}, (End("Read"),)))
    assert call.touches == {("slice", 0, "x")}


def test_time_is_everybodys_business():
    stages = begun(EACH).stage.stages
    assert located(stages, Firm(Passing(3))).touches is None


# -- what is related ---------------------------------------------------------------------------------------------------


def entry(*parts, ticket="t"):
    return out("a", ticket=ticket)._replace(touches=frozenset((part,) for part in parts))


def test_what_shares_a_part_is_related_also_by_way_of_others():
    one, two, three, far = entry("a", "b", ticket="1"), entry("b", "c"), entry("c", "d"), entry("e")
    assert related((three, far, two, one), frozenset({("a",)})) == [three, two, one]


def test_what_may_touch_anything_is_always_related():
    passing, apart = Firm(Passing(1)), entry("a")
    assert related((apart, passing), frozenset({("b",)})) == [passing]  # time passes for each part alone
    anything = Firm(Event("?", "l"))
    assert related((apart, anything), frozenset({("b",)})) == [apart, anything]


@pytest.mark.parametrize("home", [dict, lambda: {"store": MemoryStore(), "key": "s1"}], ids=["in memory", "in a store"])
@pytest.mark.parametrize(
    ("first", "between", "events"),
    [
        ("L", lambda guard: guard.receive("L", {"id": 2}), ""),
        (
            "p",
            lambda guard: guard.run([ToolCall("q", {"id": 2})]),
            "events { L when call p L when result of q x when call x } ",
        ),
    ],
    ids=["an event", "the end of another tool"],
)
def test_what_rests_on_whether_another_instance_has_called_something_waits_for_that(home, first, between, events):
    """Once `L` was called in any instance, what is received as `L` is the end of a call, and no step of its own."""
    contract = f'{events}rule "r" {{ each id: before x require L }} tools {{ otherwise fails undone }}'
    tools = dict.fromkeys((first, "q", "x"), lambda **given: given)
    guard = Guard(contract, tools=tools, events=["L"], **home())
    (out,) = guard.reserve([ToolCall(first, {"id": 1})])
    between(guard)
    asked = [ToolCall("x", {"id": 2})]
    assert "which has not returned yet" in guard.reserve(asked)[0].message
    assert guard.settle(out.ticket, {}) == Ok()
    assert (guard.reserve(asked)[0].status, guard.out()) == ("refused", [])


# -- covers ------------------------------------------------------------------------------------------------------------


def test_a_cover_has_every_part_in_every_way():
    start = begun(" ".join(f'rule "{label}" {{ at most 1 {label} }}' for label in "abcd"))
    stages = start.stage.stages
    log = [located(stages, out(label, ticket=label)) for label in "abcd"]
    here = worlds(start, log)
    assert len(here) < 2**4, "not every combination"
    for number in range(4):
        assert len({world.rules[number] for world in here}) == 2


def test_what_is_judged_in_a_cover_is_judged_as_in_all_worlds(monkeypatch):
    text = 'protocol P = rec L.{!a.L, !b.L} rule "one" { at most 1 a } rule "two" { before b require a }'
    start = begun(text)
    log = tuple(located(start.stage.stages, out("a")) for _ in range(1))
    for few in (1, 100):
        monkeypatch.setattr(looking, "_FEW", few)
        calls = Calls(start, log)
        assert type(calls.judge(Event("!", "a"))[0]) is not Ok
        assert type(calls.judge(Event("!", "b"))[0]) is not Ok


def test_a_call_whose_failure_means_done_counts_in_every_world():
    start = begun("!a.!b.end")
    for failure, legal in (("done", True), ("undone", False), ("unknown", False)):
        calls = Calls(start).with_entry(out("a", failure=failure))
        assert (type(calls.judge(Event("!", "b"))[0]) is Ok) == legal


def test_ends_are_foreseen_for_what_the_agent_does_and_not_for_what_it_receives():
    start = begun("protocol P = rec L.{!a.{?a.!c.L, !b.L, ?m.!b.L}, !b.L, ?m.L}")
    calls = Calls(start).with_entry(out("a", ends=(End("a"),)))
    assert type(calls.judge(Event("!", "b"))[0]) is not Ok, "after ?a there is only !c"
    assert type(calls.judge(Event("?", "m"))[0]) is Ok


# -- folding -----------------------------------------------------------------------------------------------------------


def test_what_stands_before_every_call_is_certain():
    start = begun("rec L.{!a.L, ?m.!b.L}")
    stages = start.stage.stages
    event, call = Event("?", "m"), located(stages, out("b"))
    settled, left = fold(start, (located(stages, Firm(event)), call))
    assert (settled, left) == (take(start, event)[0], (call,))


@pytest.mark.parametrize(("path", "is_certain"), [("x", False), ("y", True)])
def test_what_has_no_part_in_common_with_a_call_is_certain(path, is_certain):
    start = begun(EACH)
    stages = start.stage.stages
    call = located(stages, out("Read", {"path": "x"}))
    firm = located(stages, Firm(Event("!", "Read", None, {"path": path})))
    settled, left = fold(start, (call, firm))
    assert left == ((call,) if is_certain else (call, firm))
    assert (settled == start) == (not is_certain)


def test_nothing_overtakes_time():
    start = begun('rule "w" { within 3s after a require b }')
    stages = start.stage.stages
    log = (located(stages, out("a")), Firm(Passing(1)), located(stages, Firm(Event("!", "c", at=1))))
    assert fold(start, log) == (start, log)


# -- lost calls that are found -----------------------------------------------------------------------------------------


def lost_then_b(text):
    calls = Calls(begun(text)).with_entry(out("a", ends=(End("a"),), failure="unknown")._replace(lost="timeout"))
    verdict, _ = calls.judge(Event("!", "b"))
    assert type(verdict) is Ok
    return calls.with_entry(Firm(Event("!", "b")))


def test_a_call_that_is_put_in_its_own_place_changes_nothing():
    calls = lost_then_b("rec L.{!a.?a(x == 0).L, !b.L}")
    assert calls.replaced(calls.log[0], calls.log[0]) == calls


def test_a_lost_call_that_is_found_has_ended_where_it_was_made():
    calls = lost_then_b("rec L.{!a.?a.L, !b.L}")
    after, verdict = calls.found(calls.log[0], Event("?", "a"))
    assert type(verdict) is Ok
    assert after.log == ()
    assert type(after.judge(Event("!", "a"))[0]) is Ok


def test_if_what_was_let_happen_rests_on_another_end_all_ends_stay_possible():
    calls = lost_then_b("rec L.{!a.?a(x == 0).L, !b.L}")
    after, verdict = calls.found(calls.log[0], Event("?", "a", None, {"x": 1}))
    assert type(verdict) is Violation  # the contract's on the end
    (call, _) = after.log
    assert (call.lost, call.failure) == ("timeout", "done")
    assert type(after.judge(Event("!", "b"))[0]) is Ok


# -- large batches -----------------------------------------------------------------------------------------------------


def steps_of(function):
    """How many functions are called by it."""
    count = 0

    def tell(_frame, what, _argument):
        nonlocal count
        count += what == "call"

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def reading(count, done):
    guard = Guard(EACH, tools={"Read": lambda path: done.append(path), "Edit": str})  # noqa: PLW0108 - by its name
    return lambda start: guard.run([ToolCall("Read", {"path": f"f{n}"}, f"i{n}") for n in range(start, start + count)])


def test_two_hundred_reads_at_once_are_admitted_and_cost_as_much_as_in_small_batches():
    once, often = [], []
    run = reading(200, once)
    results = run(0)
    assert [result.error for result in results] == [None] * 200
    assert once == [f"f{n}" for n in range(200)]
    large = reading(200, [])
    small = reading(20, often)
    at_once = steps_of(lambda: large(0))
    in_batches = steps_of(lambda: [small(20 * number) for number in range(10)])
    assert len(often) == 200
    assert at_once <= 3 * in_batches, (at_once, in_batches)
