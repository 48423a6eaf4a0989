"""Validators of the user's own: what they see, what they say, and that their errors never pass for a fine trace."""

from __future__ import annotations

import json
import random
import sys
import textwrap
from dataclasses import replace
from itertools import count

import pytest

from accord.errors import ContractError, UsageError
from accord.testing import assert_conforms
from accord.trace import (
    AgentProbe,
    JsonlSink,
    TraceConfig,
    TraceContractsConfig,
    TraceEvent,
    TraceRecorder,
    TraceViolationError,
    Validation,
    ValidatorConfig,
    ValidatorError,
    Violation,
    compile_trace_config,
    iter_violations,
    load_trace_config,
    own_validators,
    validate_file,
    validate_with_config,
)

MODULE = """
from accord.trace import TraceValidator, Violation

class Seen(TraceValidator):
    everything = []
    def __init__(self):
        self.events = []
        Seen.everything.append(self.events)
    def event(self, event):
        self.events.append(event)

class NoPaying:
    def __init__(self, tools=("pay",), code="PAID"):
        self.tools, self.code = tools, code
    def event(self, event):
        if event.payload.get("tool_name") in self.tools and event.kind == "tool_call_start":
            return [Violation(self.code, event.seq, "it pays", context={"tools": list(self.tools)})]

class Balanced(TraceValidator):
    "Every `open` is closed; said at the end, of the event that opened."
    def __init__(self):
        self.opened = []
    def event(self, event):
        if event.kind == "open":
            self.opened.append(event.seq)
        elif event.kind == "close":
            if self.opened:
                self.opened.pop()
            else:
                yield Violation("CLOSED_TWICE", event.seq, "nothing is open")
    def end(self):
        for seq in self.opened:
            yield Violation("LEFT_OPEN", seq, "it is never closed")

def closure(limit=1):
    "A function that gives a validator is as good as a class."
    class Few:
        left = limit
        def event(self, event):
            self.left -= 1
            if self.left < 0:
                yield Violation("MANY", event.seq, f"more than {limit} events")
    return Few()
"""


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """A module of the user's own; gives a function that adds code to it."""

    def write(text=""):
        (tmp_path / "own_checks.py").write_text(MODULE + textwrap.dedent(text))
        sys.modules.pop("own_checks", None)
        import importlib

        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write()
    yield write
    sys.modules.pop("own_checks", None)


def own(*names, fail_fast=False, only=True, allow_imports=True, mode="record", **configs):
    """A configuration with these validators, and no others."""
    validators = {
        name: {"import": f"own_checks:{name}", **({"config": configs[name]} if name in configs else {})}
        for name in names
    }
    builtin = (
        ("generate_boundaries", "stream_boundaries", "tool_results", "tool_payloads", "tool_order") if only else ()
    )
    contracts = {"validators": validators, "fail_fast": fail_fast, **{name: {"enabled": False} for name in builtin}}
    return load_trace_config({"contracts": contracts, "on_violation": {"mode": mode}}, allow_imports=allow_imports)


def events(*kinds, run=None):
    return [{"seq": seq, "kind": kind, "payload": {"n": seq}, "run_id": run} for seq, kind in enumerate(kinds)]


def calls(*tools):
    return [{"seq": n, "kind": "tool_call_start", "payload": {"tool_name": tool}} for n, tool in enumerate(tools)]


def places(found):
    return [(violation.code, violation.event_seq) for violation in found]


# -- what they see and say ---------------------------------------------------------------------------------------------


def test_they_see_every_event_as_it_happened_and_cannot_change_it(checks):
    given = [
        {"seq": 0, "kind": "tool_call_start", "payload": {"tool_name": "a", "arguments": {"x": [1]}}, "run_id": "r"},
        {"seq": 1, "kind": "my own kind", "run_id": "r", "example_id": 7},
        TraceEvent(2, "error", {"error": "x"}, "r"),
    ]
    validate_with_config(given, own("Seen"))
    import own_checks

    tried, first, second = own_checks.Seen.everything
    assert tried == []  # the one that was made to see that it can be
    assert first == [TraceEvent(0, "tool_call_start", given[0]["payload"], "r"), given[2]]
    assert second == [TraceEvent(1, "my own kind", {}, "r", 7)]
    with pytest.raises(TypeError, match="cannot be changed"):
        first[0].payload["arguments"]["x"].append(2)
    assert given[0]["payload"] == {"tool_name": "a", "arguments": {"x": [1]}}


def test_what_they_say_is_a_violation_like_any_other(checks):
    (found,) = validate_with_config(
        [{**event, "run_id": "r", "example_id": 3} for event in calls("a", "pay")], own("NoPaying")
    )
    assert found == Violation("PAID", 1, "it pays", "tool_call_start", {"tools": ["pay"]}, "r", 3)
    assert str(found) == "PAID at event 1: it pays"


def test_their_configuration_is_given_by_name(checks):
    config = own("NoPaying", "closure", NoPaying={"tools": ["book"], "code": "BOOKED"}, closure={"limit": 2})
    assert places(validate_with_config(calls("book", "pay", "book"), config)) == [
        ("BOOKED", 0),
        ("BOOKED", 2),
        ("MANY", 2),
    ]


def test_violations_stand_in_the_order_of_their_events_beside_those_of_accord(checks):
    given = [*events("open", "open", "close"), {"seq": 3, "kind": "generate_end"}, {"seq": 4, "kind": "generate_start"}]
    found = validate_with_config(given, own("Balanced", only=False))
    assert places(found) == [("LEFT_OPEN", 0), ("GENERATE_NO_START", 3), ("GENERATE_NO_END", 4)]
    assert found[0].event_kind == "open"


def test_each_run_has_validators_of_its_own(checks):
    given = [
        event
        for pair in zip(events("open", "x", run="a"), events("close", "open", run="b"), strict=True)
        for event in pair
    ]
    found = validate_with_config(given, own("Balanced"))
    assert [(v.code, v.event_seq, v.run_id) for v in found] == [
        ("LEFT_OPEN", 0, "a"),
        ("CLOSED_TWICE", 0, "b"),
        ("LEFT_OPEN", 1, "b"),
    ]
    again = validate_with_config(given, compile_trace_config(own("Balanced")))
    assert again == found


def test_numbers_that_do_not_count_up(checks):
    given = [
        {"seq": seq, "kind": kind} for seq, kind in ((7, "open"), (2**70, "open"), (7, "x"), (-3, "open"), (3, "close"))
    ]
    found = validate_with_config(given, own("Balanced"))
    assert places(found) == [("LEFT_OPEN", 7), ("LEFT_OPEN", 2**70)]  # in the order in which they happened


def test_an_empty_trace_has_an_end(checks):
    checks("""
    class Something(Balanced):
        def __init__(self):
            self.opened = [5]
    """)
    assert places(validate_with_config([], own("Something"))) == [("LEFT_OPEN", 0)]


def test_one_that_is_switched_off_is_not_imported(checks):
    validators = {"a": {"enabled": False, "import": "no.such.module:at_all"}}
    config = load_trace_config({"contracts": {"validators": validators}})
    assert validate_with_config(calls("a"), config)[0].code == "TOOL_NO_RESULT"
    for off in ({"enabled": False}, {"contracts": {"enabled": False}}):
        loaded = load_trace_config(off)
        contracts = replace(loaded.contracts, validators={"a": ValidatorConfig(import_="no.such:thing")})
        assert validate_with_config(calls("a"), replace(loaded, contracts=contracts)) == []


def test_they_have_their_toggle(checks):
    toggles = own("NoPaying").to_contracts()["toggles"]
    assert toggles["NoPaying"] and not toggles["tool_order"]
    off = {"contracts": {"validators": {"mine": {"enabled": False, "import": "a:b"}}}}
    assert load_trace_config(off).to_contracts()["toggles"]["mine"] is False


# -- fail_fast ---------------------------------------------------------------------------------------------------------


def test_fail_fast_gives_the_first_of_the_trace_whoever_finds_it(checks):
    given = [*events("open", "generate_end", "close", "close")]
    assert places(validate_with_config(given, own("Balanced", fail_fast=True, only=False))) == [
        ("GENERATE_NO_START", 1)
    ]
    given = [*events("open", "generate_end", "x")]
    assert places(validate_with_config(given, own("Balanced", fail_fast=True, only=False))) == [("LEFT_OPEN", 0)]


def test_fail_fast_does_not_wait_for_one_that_has_no_end(checks):
    endless = ({"seq": n, "kind": "tool_call_start", "payload": {"tool_name": "pay" if n else "a"}} for n in count())
    assert places(validate_with_config(endless, own("NoPaying", "Seen", fail_fast=True))) == [("PAID", 1)]


def test_fail_fast_is_the_first_of_all_violations(checks):
    """On random traces, mixed with the validators of accord."""
    chance = random.Random(7)
    kinds = ("open", "close", "generate_start", "generate_end", "stream_start", "stream_end", "x")
    several = 0
    for _ in range(300):
        runs = [{"run_id": run, "seq": 0} for run in range(chance.randrange(1, 4))]
        given = []
        for _ in range(chance.randrange(12)):
            run = chance.choice(runs)
            given.append({**run, "kind": chance.choice(kinds)})
            run["seq"] += 1
        whole = validate_with_config(given, own("Balanced", "Seen", only=False))
        assert validate_with_config(given, own("Balanced", "Seen", only=False, fail_fast=True)) == whole[:1]
        in_order = sorted(map(str, iter_violations(given, own("Balanced", "Seen", only=False))))
        assert in_order == sorted(map(str, whole))
        several += {v.code for v in whole} >= {"LEFT_OPEN", "GENERATE_NO_END"}
    assert several >= 20


# -- errors ------------------------------------------------------------------------------------------------------------

BAD = """
class Raises:
    def event(self, event):
        if event.seq == 1:
            raise KeyError("total")

class RaisesAtTheEnd:
    def event(self, event): pass
    def end(self): 1 / 0

class Stops:
    def event(self, event): raise SystemExit(0)

class Halfway:
    def event(self, event):
        yield Violation("FINE", event.seq, "a violation")
        raise ValueError("x" * 1000)

class Loops:
    def event(self, event): return self.event(event)

class Endless:
    def event(self, event):
        while True:
            yield Violation("A", event.seq, "again")

class Unprintable(Exception):
    def __str__(self): raise RuntimeError

class RaisesWhatCannotBeShown:
    def event(self, event): raise Unprintable

def gives(*answers):
    class Gives:
        def event(self, event): return answers[0]
    return Gives

A = Violation("A", 0, "a violation")
Text, One, Tuple, Set, Dict, Number, Nothing = (gives(x)
    for x in ("LEAK", A, [("A", 0, "x")], {A}, {A: 1}, 3, [None]))
Code, NoCode, NoDetail, NoSeq, True_, Later = (gives([x]) for x in (
    Violation("A B", 0, "x"), Violation(None, 0, "x"), Violation("A", 0, ""), Violation("A", None, "x"),
    Violation("A", True, "x"), Violation("A", 1, "x")))
Other, Context, NotJson, Kind, Unhashable = (gives([x]) for x in (
    Violation("A", 0, "x", run_id="other"), Violation("A", 0, "x", context=[1]),
    Violation("A", 0, "x", context={"a": [object()]}), Violation("A", 0, "x", 7), Violation("A", 0, "x", run_id=[])))

class Coroutine:
    def event(self, event): return self.later()
    async def later(self): return []

class EndsElsewhere:
    def event(self, event): pass
    def end(self): return [Violation("A", 99, "x")]

ONE = NoPaying()
def shared(): return ONE

made = []
def in_turns():
    made.append(NoPaying())
    return made[min(len(made), 2) - 1]

later = []
class Second:
    "Cannot be made for a second run."
    def __init__(self):
        later.append(self)
        if len(later) > 2: raise OSError("no more of them")
    def event(self, event): pass
"""

FAILING = {
    "Raises": "failed at event 1: KeyError: 'total' (own_checks.py, line ",
    "RaisesAtTheEnd": "failed at the end of the run: ZeroDivisionError: division by zero (own_checks.py, line ",
    "Stops": "failed at event 0: SystemExit: 0 (own_checks.py, line ",
    "Halfway": "failed at event 0: ValueError: xxxxx",
    "Loops": "failed at event 0: RecursionError: ",
    "RaisesWhatCannotBeShown": "failed at event 0: Unprintable (own_checks.py, line ",
    "Endless": "gave at event 0 more than 10,000 violations",
    "Text": "gave at event 0 a `str`; expected a list of violations, or nothing",
    "One": "gave at event 0 a `Violation`; expected a list of violations, or nothing",
    "Set": "gave at event 0 a `set`",
    "Dict": "gave at event 0 a `dict`",
    "Number": "gave at event 0 a `int`",
    "Coroutine": "gave at event 0 a `coroutine`",
    "Tuple": "gave at event 0 a violation that is a `tuple`; expected a `Violation`",
    "Nothing": "gave at event 0 a violation that is a `NoneType`",
    "Code": "whose code is 'A B'; expected a word such as `NO_RECEIPT`",
    "NoCode": "whose code is None",
    "NoDetail": "whose detail is ''; expected a sentence",
    "NoSeq": "whose event is None; expected the `seq` of one",
    "True_": "whose event is True",
    "Later": "was given event 0 and speaks of event 1; what is about another event of the run is for `end`",
    "Other": "that is about another run",
    "Unhashable": "failed at event 0: TypeError: ",
    "Context": "whose context is a `list`; expected a mapping",
    "NotJson": "whose context is no JSON: a `builtins.object` is no JSON at `/a/0`",
    "Kind": "whose kind of event is 7; expected a text",
    "EndsElsewhere": "speaks of event 99 at the end of the run, which has no such event",
    "shared": "gives the same object again; every run needs one of its own",
    "in_turns": "gives the same object again; every run needs one of its own",
    "Second": "cannot be made: OSError: no more of them (own_checks.py, line ",
}


@pytest.fixture
def failing(checks):
    checks(BAD)


TWO_RUNS = [*events("generate_end", "x", "x", run="a"), *events("x", "x", run="b")]


@pytest.mark.parametrize("name", FAILING)
def test_code_that_fails_is_an_error_that_says_whose_it_was(failing, name, tmp_path):
    config = own(name)
    with pytest.raises(ValidatorError) as caught:
        validate_with_config(TWO_RUNS, config)
    said = str(caught.value)
    assert said.startswith(f"the validator `{name}` (`own_checks:{name}`) ") and FAILING[name] in said
    assert caught.value.validator == name and len(said) < 600
    assert isinstance(caught.value, UsageError)
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in TWO_RUNS))
    with pytest.raises(ValidatorError):
        validate_file(path, own(name))
    with pytest.raises(ValidatorError):
        list(iter_violations(TWO_RUNS, own(name)))
    with pytest.raises(ValidatorError):
        validate_with_config(TWO_RUNS, own(name, fail_fast=True))
    with pytest.raises(ValidatorError):
        assert_conforms(TWO_RUNS, own(name))


def test_the_error_is_there_for_whoever_looks(failing):
    with pytest.raises(ValidatorError) as caught:
        validate_with_config(TWO_RUNS, own("Raises"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_after_a_failure_nothing_more_is_judged_and_nothing_is_made_up(failing):
    """Whoever catches the error and goes on is told again; what never ends is not said of a trace half read."""
    validation = Validation(own("Raises", only=False))
    given = [*events("generate_end", "generate_start"), *events("x", "generate_end")[1:]]
    with pytest.raises(ValidatorError):
        validation.feed(given)
    assert validation.stopped
    validation.feed(given)
    with pytest.raises(ValidatorError):
        validation.finish()
    found = validation.violations()
    assert places(found) == [("GENERATE_NO_START", 0), ("VALIDATOR_FAILED", 1)]
    assert found[1].context == {"validator": "Raises"} and "KeyError" in found[1].detail


def test_the_first_failure_is_the_one_that_is_told(failing):
    validation = Validation(own("RaisesAtTheEnd", "EndsElsewhere"))
    validation.feed(TWO_RUNS)
    with pytest.raises(ValidatorError, match="RaisesAtTheEnd"):
        validation.finish()
    assert [(v.code, v.run_id) for v in validation.violations()] == [("VALIDATOR_FAILED", "a")]


def test_one_object_for_all_runs_is_told_at_the_first(failing):
    """The runs of a trace may be one, and traces many."""
    with pytest.raises(ValidatorError, match="gives the same object again"):
        validate_with_config(calls("a"), own("shared"))


def test_an_event_that_cannot_be_given(checks):
    with pytest.raises(UsageError, match="event 4 cannot be given to validators of your own: the `kind`"):
        validate_with_config([{"seq": 4, "kind": ""}], own("Seen"))


def test_an_interrupt_is_an_interrupt(checks):
    checks("""
    class Interrupted:
        def event(self, event): raise KeyboardInterrupt
    """)
    with pytest.raises(KeyboardInterrupt):
        validate_with_config(calls("a"), own("Interrupted"))


SIGNATURES = """
class NoEvent: pass
class Misspelt(TraceValidator):
    def evnt(self, event): pass
class TooFew:
    def event(self): pass
class TooMany:
    def event(self, event, position): pass
class EndWants:
    def event(self, event): pass
    def end(self, events): pass
class Later:
    async def event(self, event): pass
class LaterBitByBit:
    async def event(self, event): yield 1
class LaterAtTheEnd:
    def event(self, event): pass
    async def end(self): pass
class EventIsData:
    event = 7
class EndIsData:
    event = end = 7
    def event(self, event): pass
class Wants:
    def __init__(self, limit): pass
    def event(self, event): pass
def check(event): pass
def nothing(): pass
value = 7
made = NoPaying()
"""
SIGNED = {
    "NoEvent": "gives a `NoEvent`, which has no `event(event)`",
    "Misspelt": "cannot be made: TypeError: Can't instantiate abstract class Misspelt with abstract method event",
    "TooFew": "cannot be called as `event(event)`: too many positional arguments",
    "TooMany": "cannot be called as `event(event)`: missing a required argument: 'position'",
    "EndWants": "cannot be called as `end()`: missing a required argument: 'events'",
    "Later": "is asynchronous: `event(event)`",
    "LaterBitByBit": "is asynchronous: `event(event)`",
    "LaterAtTheEnd": "is asynchronous: `end()`",
    "EventIsData": "gives a `EventIsData`, which has no `event(event)`",
    "EndIsData": "gives a `EndIsData`, which has no `end()`",
    "Wants": "cannot be made: TypeError: Wants.__init__() missing 1 required positional argument: 'limit'",
    "check": "cannot be made: TypeError: check() missing 1 required positional argument: 'event'",
    "nothing": "gives a `NoneType`, which has no `event(event)`",
    "value": "the validator `own_checks:value` is a `int` and cannot be called",
    "made": "the validator `own_checks:made` is a `NoPaying` and cannot be called",
    "missing": "cannot import the validator `own_checks:missing`: AttributeError: ",
}


@pytest.mark.parametrize("name", SIGNED)
def test_what_is_no_validator_is_told_before_anything_is_judged(checks, name):
    checks(SIGNATURES)
    for make in (compile_trace_config, Validation, lambda config: AgentProbe(trace_config=config)):
        with pytest.raises(UsageError) as caught:
            make(own(name))
        assert SIGNED[name] in str(caught.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("no_such_module_at_all:x", "No module named 'no_such_module_at_all'; is its folder on `PYTHONPATH`?"),
        ("own_broken:x", "cannot import the validator `own_broken:x`: SyntaxError: "),
        ("own_exit:x", "cannot import the validator `own_exit:x`: SystemExit: 0 (own_exit.py, line 1)"),
        ("own_raises:x", "cannot import the validator `own_raises:x`: ValueError: no (own_raises.py, line 2)"),
    ],
)
def test_what_cannot_be_imported(checks, tmp_path, address, message):
    (tmp_path / "own_broken.py").write_text("def")
    (tmp_path / "own_exit.py").write_text("raise SystemExit(0)")
    (tmp_path / "own_raises.py").write_text("def x():\n    raise ValueError('no')\nx()")
    contracts = TraceContractsConfig(validators={"a": ValidatorConfig(import_=address, allow_imports=True)})
    with pytest.raises(UsageError) as caught:
        compile_trace_config(TraceConfig(contracts=contracts))
    assert message in str(caught.value)


def test_configurations_in_python_are_checked_too(checks):
    for name, config, message in (
        ("a", ValidatorConfig(import_="own_checks:NoPaying"), "runs code"),
        ("a", ValidatorConfig(import_=None, allow_imports=True), "says `package.module:attribute`, got None"),
        ("a", ValidatorConfig(import_="own_checks", allow_imports=True), "says `package.module:attribute`"),
        ("a", ValidatorConfig(True, "own_checks:NoPaying", {1: 2}, True), "a key that is no text"),  # noqa: FBT003
        ("a", ValidatorConfig(True, "own_checks:NoPaying", {"tool": 2}, True), "unexpected keyword argument"),  # noqa: FBT003
        ("tool_order", ValidatorConfig(import_="own_checks:NoPaying", allow_imports=True), "means something else"),
        ("fail_fast", ValidatorConfig(import_="own_checks:NoPaying", allow_imports=True), "means something else"),
    ):
        with pytest.raises(UsageError) as caught:
            compile_trace_config(TraceConfig(contracts=TraceContractsConfig(validators={name: config})))
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "line", "message"),
    [
        ("validators: [a]", "E062", 1, "is a list; expected a mapping"),
        ("validators: {a: own_checks:NoPaying}", "E062", 1, "is a text; expected a mapping"),
        ("validators:\n  a: {improt: 'a:b'}", "E061", 2, "did you mean `import`?"),
        ("validators:\n  a: {import: 'a:b', allow_imports: true}", "E061", 2, "unknown key `allow_imports`"),
        ("validators:\n  a: {}", "E067", 2, "`import` of a validator says `package.module:attribute`"),
        ("validators:\n  a:", "E067", 2, "`import` of a validator says `package.module:attribute`"),
        ("validators:\n  a: {import: ''}", "E062", 2, "is empty"),
        ("validators:\n  a: {import: 'a.b'}", "E067", 2, "says `package.module:attribute`"),
        ("validators:\n  a: {import: 'a:b:c'}", "E067", 2, "says `package.module:attribute`"),
        ("validators:\n  a: {import: 7}", "E062", 2, "is a number; expected a text"),
        ("validators:\n  a: {import: 'a:b', config: {1: 2}}", "E062", 2, "write `'1'`"),
        ("validators:\n  a: {import: 'a:b', config: [1]}", "E062", 2, "is a list; expected a mapping"),
        ("validators:\n  protocol: {import: 'a:b'}", "E062", 2, "`protocol` means something else in `contracts`"),
    ],
)
def test_a_file_that_is_wrong(text, code, line, message):
    indented = textwrap.indent(text, "  ")
    with pytest.raises(ContractError) as caught:
        load_trace_config(f"contracts:\n{indented}", allow_imports=True)
    found = [(d.code, d.source.line_and_column(d.span.start)[0] - 1) for d in caught.value.diagnostics]
    assert found == [(code, line)]
    assert message in f"{caught.value.diagnostics[0].message} {caught.value.diagnostics[0].help}"


def test_imports_need_permission(checks):
    with pytest.raises(ContractError) as caught:
        own("NoPaying", allow_imports=False)
    (finding,) = caught.value.diagnostics
    assert finding.code == "E067" and "a validator that is imported runs code" in finding.message
    assert "--allow-imports" in finding.help
    assert "own_checks" not in sys.modules
    assert own("NoPaying").contracts.validators["NoPaying"].allow_imports
    with pytest.raises(ContractError, match="validator that is imported runs code"):
        AgentProbe(trace_config={"contracts": {"validators": {"a": {"import": "own_checks:NoPaying"}}}})


# -- probes and their records ------------------------------------------------------------------------------------------

TOOLS = {"pay": lambda amount: amount, "look": lambda: "page 7"}


def agent(data, tools):
    tools["look"]()
    return tools["pay"](amount=data)


def test_a_probe_judges_with_them(checks):
    result = AgentProbe(TOOLS, own("NoPaying", only=False)).run(agent, 3)
    assert places(result.violations) == [("PAID", 2)] and result.status == "success"
    assert result.trace["violations"][0]["context"] == {"tools": ["pay"]}
    assert AgentProbe(TOOLS, own("NoPaying", mode="fail_probe")).run(agent, 3).status == "violation"
    with pytest.raises(TraceViolationError):
        AgentProbe(TOOLS, own("NoPaying", mode="fail_run")).run(agent, 3)


@pytest.mark.parametrize("name", ["Raises", "RaisesAtTheEnd", "Text", "Stops"])
def test_a_failure_does_not_break_the_agent_and_does_not_pass(failing, name):
    result = AgentProbe(TOOLS, own(name, only=False)).run(agent, 3)
    assert result.output == 3 and result.exception is None
    assert [v.code for v in result.violations] == ["VALIDATOR_FAILED"]
    assert FAILING[name] in result.trace["validation_error"]
    assert result.trace["event_count"] == len(result.trace["events"]) == 4 and result.trace["fingerprint"]
    assert "sink_error" not in result.trace
    assert AgentProbe(TOOLS, own(name, mode="fail_probe")).run(agent, 3).status == "violation"
    with pytest.raises(TraceViolationError, match="VALIDATOR_FAILED"):
        AgentProbe(TOOLS, own(name, mode="fail_run")).run(agent, 3)
    fine = AgentProbe(TOOLS, own("NoPaying", NoPaying={"tools": []})).run(agent, 3)
    assert "validation_error" not in fine.trace and fine.violations == ()


def test_what_must_not_be_seen_is_not_in_errors_either(checks, accord, tmp_path):
    checks("""
    class Tells:
        def event(self, event):
            raise ValueError(event.payload["arguments"]["amount"])
    class TellsAtTheEnd:
        seen = None
        def event(self, event):
            self.seen = self.seen or event
        def end(self):
            raise ValueError(self.seen.payload["arguments"]["amount"])
    class Says:
        def event(self, event):
            if event.kind == "tool_call_start":
                said = event.payload["arguments"]["amount"]
                yield Violation("SAID", event.seq, said, context={"amount": said})
    """)
    redact = {"redact": {"enabled": True, "json_pointers": ["/arguments/amount"]}}
    for name in ("Tells", "TellsAtTheEnd", "Says"):
        contracts = {"validators": {name: {"import": f"own_checks:{name}"}}}
        config = {"store": redact, "contracts": contracts}
        loaded = load_trace_config(config, allow_imports=True)
        result = AgentProbe(TOOLS, loaded).run(lambda data, tools: tools["pay"](amount=data), "s3cr3t")
        record = result.to_record()
        assert "s3cr3t" not in json.dumps(result.trace)
        assert "s3cr3t" not in json.dumps(record) and "<redacted>" in json.dumps(
            record["custom"]["trace"]["violations"]
        )
        recorder = TraceRecorder(sink=JsonlSink(tmp_path / f"{name}.jsonl"))
        recorder.record_tool_call("pay", {"amount": "s3cr3t"})
        recorder.close()
        (tmp_path / "c.yaml").write_text(json.dumps(config))
        result = accord(
            "trace", "validate", tmp_path / f"{name}.jsonl", "--config", tmp_path / "c.yaml", "--allow-imports"
        )
        assert "s3cr3t" not in result.output and "<redacted>" in result.output


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def accord():
    from click.testing import CliRunner

    from accord.cli.app import app

    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="accord")


@pytest.fixture
def files(tmp_path):
    """A trace that pays, one that does not, and a configuration with one validator."""

    def config(name):
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"contracts: {{validators: {{mine: {{import: 'own_checks:{name}'}}}}}}")
        return path

    for name, tools in (("fine", ["look"]), ("paying", ["look", "pay"])):
        recorder = TraceRecorder("r", "e", sink=JsonlSink(tmp_path / f"{name}.jsonl"))
        for tool in tools:
            recorder.record_tool_call(tool, {}), recorder.record_tool_result(tool, "ok")
        recorder.close()
    return tmp_path / "fine.jsonl", tmp_path / "paying.jsonl", config


def test_gates_and_baselines_know_them(checks, accord, files, tmp_path):
    fine, paying, config = files
    given = ("--config", config("NoPaying"), "--allow-imports")
    assert accord("trace", "validate", paying, *given[:2]).exit_code == 1  # E067: it may not be imported
    assert accord("trace", "validate", fine, *given).exit_code == 0
    result = accord("trace", "validate", paying, *given, "--fail-on-trace-violations")
    assert result.exit_code == 3 and "PAID at event 2\n      it pays" in result.stdout
    told = json.loads(accord("trace", "validate", paying, *given, "--format", "json").stdout)
    assert told["runs"][0]["violations"][0]["context"] == {"tools": ["pay"]}
    assert "PAID" in accord("trace", "validate", paying, *given, "--format", "junit").stdout
    both = ("--fail-on-trace-violations", "--fail-on-trace-drift")
    assert accord("trace", "diff", fine, paying, *given, *both).exit_code == 3
    baseline = tmp_path / "baseline.json"
    assert "1 known violation" in accord("trace", "accept", paying, *given, "--baseline", baseline).stdout
    assert accord("trace", "validate", paying, *given, "--baseline", baseline).exit_code == 0
    assert accord("trace", "diff", baseline, paying, *given, *both).exit_code == 0
    plain = accord("trace", "fingerprint", paying).stdout
    assert accord("trace", "fingerprint", paying, *given).stdout == plain  # they judge, and have no part in it


@pytest.mark.parametrize("name", ["Raises", "Stops", "Text", "RaisesAtTheEnd"])
def test_code_that_fails_is_no_answer_on_the_command_line(failing, accord, files, tmp_path, name):
    fine, paying, config = files
    given = ("--config", config(name), "--allow-imports")
    baseline = tmp_path / "b.json"
    for command in (
        ("validate", fine), ("validate", fine, "--fail-on-trace-violations"), ("diff", fine, paying),
        ("accept", fine, "--baseline", baseline),
    ):  # fmt: skip
        result = accord("trace", *command, *given)
        assert result.exit_code == 2 and result.stdout == ""
        assert "the validator `mine`" in result.stderr and FAILING[name] in result.stderr
    assert not baseline.exists()
    assert accord("trace", "fingerprint", fine, *given).exit_code == 0  # nothing is judged


def test_a_record_whose_validators_failed_is_no_answer_until_it_is_judged_again(failing, accord, files, tmp_path):
    _, _, config = files
    record, baseline = tmp_path / "record.jsonl", tmp_path / "b.json"
    record.write_text(json.dumps(AgentProbe(TOOLS, own("Raises")).run(agent, 3).to_record()) + "\n")
    for command in (("validate", record), ("diff", record, record), ("accept", record, "--baseline", baseline)):
        result = accord("trace", *command)
        assert result.exit_code == 2 and "was not judged when it was made" in result.stderr
        assert "KeyError: 'total'" in result.stderr
    assert not baseline.exists()
    assert accord("trace", "fingerprint", record).exit_code == 0
    again = ("--config", config("NoPaying"), "--allow-imports")
    assert "PAID" in accord("trace", "validate", record, *again).stdout
    assert accord("trace", "validate", record, "--config", config("Raises"), "--allow-imports").exit_code == 2


def test_a_module_that_ends_the_program_does_not_end_ours_with_its_status(accord, files, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_exit_zero.py").write_text("import sys\nsys.exit(0)")
    fine, _, _ = files
    (tmp_path / "c.yaml").write_text("contracts: {validators: {mine: {import: 'own_exit_zero:x'}}}")
    result = accord("trace", "validate", fine, "--config", tmp_path / "c.yaml", "--allow-imports")
    assert result.exit_code == 2 and "SystemExit: 0" in result.stderr


# -- normalisers, which are imported in the same way -------------------------------------------------------------------


def test_a_normaliser_that_fails_says_whose_it_was(checks, accord, files, tmp_path):
    checks("""
    def raises(payload): return payload["nothing"]
    def stops(payload): raise SystemExit(0)
    """)
    fine, _, _ = files
    for name, said in (("raises", "KeyError: 'nothing' (own_checks.py, line "), ("stops", "SystemExit: 0")):
        settings = {"fingerprint": {"normaliser": {"kind": "import", "import": f"own_checks:{name}"}}}
        (tmp_path / "n.yaml").write_text(json.dumps(settings))
        result = accord("trace", "fingerprint", fine, "--config", tmp_path / "n.yaml", "--allow-imports")
        assert result.exit_code == 2 and f"the normaliser `own_checks:{name}` failed: {said}" in result.stderr
        trace = AgentProbe(TOOLS, settings, allow_imports=True).run(agent, 3).trace
        assert trace["fingerprint"] is None and said in trace["fingerprint_error"]


def test_their_memory_of_events_is_small(checks):
    """Only where something may be said at the end is it known where events stood."""
    validation = Validation(own("NoPaying", "Seen"))
    validation.feed(calls("a"))
    (run,) = validation._runs.values()
    assert run.own.steps is None
    steps = own_validators._Steps()
    before = sys.getsizeof(steps._kinds)
    for seq in range(1000):
        steps.add(seq, seq, f"{'ki'}nd")
    assert len(set(map(id, steps._kinds))) == 1 and before < 100
    assert steps.find(999) == (999, "kind") and steps.find(1000) is None
