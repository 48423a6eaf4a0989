"""The check of registers against an enumeration of the ways through a protocol."""

import random

import pytest
from tests.unit.language.random_documents import Random

from accord.diagnostics import Source
from accord.language import examine, print_protocol
from accord.language.checks import registers
from accord.language.checks.binding import check as check_binding
from accord.language.clauses import Bind, Guard, Register
from accord.language.tree import Action, Choice, Interleaving, Recursion, Sequence
from accord.semantics.places import Timed, bare, choices, settle


def codes(text):
    return [d.code for d in examine(Source(text))[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a(x as r).!b(x == r)", []),
        ("!b(x == r).?a(x as r)", ["E040"]),
        ("rec L.{!b(x == r).L, ?a(x as r).L}", []),
        ("rec L.{!b(x == r).L, ?a(x as r).end}", ["E040"]),
        ("?{a(x as r), b}.!c(x == r)", []),
        ("?{a(x as r).!c(x == r), b.!c(x == r)}", ["E040"]),
        ("(?a(x as r) | !b).!c(x == r)", []),
        ("rec A.?a.rec B.{?b(x as r).A, ?c.B, ?d(y == r).end}", []),
        ("rec X.!a.rec X.{?b(x as r).X, !c(x == r).end}", []),
        ("rec X.{!c(x == r).X, !d.rec X.{?b(x as r).X, end}}", ["E040"]),
        ("!a(x == s, x into s)", []),
    ],
)
def test_bound_before(text, expected):
    assert codes(text) == (["E044"] if text == "!a(x == s, x into s)" else expected)


def reached_unbound(body):
    """The actions that read a register which no way to them binds, found by walking the reference's places."""
    todo = [(place, frozenset()) for place in settle((body,), 0)]
    seen, bound_somewhere, readers = set(), set(), set()
    while todo:
        place, bound = state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        now, *rest = bare(place) or (None,)
        if isinstance(now, Timed):  # the hour is left aside, so that places repeat
            todo += [(late, bound) for late in settle((now.deadline.otherwise, *rest), 0)]
        for _, action, afters in choices(place):
            now = bound
            for index, clause in enumerate(action.clauses):
                if isinstance(clause, Guard) and isinstance(clause.operand, Register):
                    readers.add((action, index))
                    if clause.operand.name in now:
                        bound_somewhere.add((action, index))
                elif isinstance(clause, Bind):
                    now |= {clause.register}
            todo += [(after, now) for after in afters]
    return readers - bound_somewhere


class SmallRandom(Random):
    """Protocols of two registers and few labels, so that places repeat."""

    def action(self):
        direction = self.random.choice("!?")
        clauses = []
        if self.random.random() < 0.5:
            register = self.random.choice("rs")
            bind = self.random.random() < 0.5
            clauses.append(Bind(("x",), register) if bind else Guard(("x",), "==", Register(register)))
        return Action(direction, self.random.choice("abcd"), None, clauses=tuple(clauses))


def has_interleaving(body):
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Interleaving):
            return True
        todo += node.children()
    return False


def distinct(body):
    """Whether no two actions are equal, so that an action names its place."""
    todo, seen = [body], set()
    while todo:
        node = todo.pop()
        todo += node.children()
        if isinstance(node, Action):
            if node.clauses and node in seen:
                return False
            seen.add(node)
    return True


def test_what_some_way_binds_is_never_reported(health):
    """Nothing that a way can bind is an error; the check may overlook, but must not be wrong."""
    make = SmallRandom(random.Random(1))
    looked_at = reported = overlooked = 0
    for _ in range(3000):
        body = make.protocol()
        source = Source(print_protocol(body))
        if has_interleaving(body) or not distinct(body) or check_binding(body, source):
            continue
        looked_at += 1
        unbound = {(a.label, a.clauses[i]) for a, i in reached_unbound(body)}
        reachable = len(unbound)
        found = {f.code for f in registers.check(body, source)}
        reported += "E040" in found
        overlooked += reachable > 0 and "E040" not in found
        if not reachable and "E040" in found:
            # Only what can never be reached is reported although no way there leaves it unbound.
            assert "E025" in codes(print_protocol(body)), print_protocol(body)
    assert looked_at > 400
    assert reported > 100
    health(f"registers: {looked_at:,} random protocols, {reported:,} with E040, {overlooked:,} overlooked")


def test_nested_loops_take_few_passes(monkeypatch):
    """A chain of loops through which a register is handed back one by one, each time a loop further out."""
    count = 400
    head = "".join(f"rec L{i}.!a{i}.{{!j{i}.{f'L{i - 1}' if i else 'end'}, !d{i}." for i in range(count))
    text = head + f"!b(x as r).L{count - 1}" + "}" * count
    text = text.replace("!a0.", "!a0.{!q(y == r).end, !w.", 1) + "}"
    passes = []
    original = registers._Pass.run
    monkeypatch.setattr(registers._Pass, "run", lambda self, body: (passes.append(1), original(self, body)))
    assert codes(text) == []
    assert len(passes) <= 9


def test_many_registers_take_little_memory():
    import tracemalloc

    count = 1200
    text = ".".join(f"?a{i}(x as r{i})" for i in range(count)) + ".!b(x == r0)"
    tracemalloc.start()
    try:
        assert codes(text) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def test_a_register_in_a_branch_that_ends_is_not_bound_behind_it():
    assert codes("?{a(x as r).end, b}.!c(y == r)") == ["E040"]
    assert codes("rec L.?{a(x as r).L, b}.!c(y == r)") == []


def test_kinds_of_nodes_are_covered():
    make = SmallRandom(random.Random(1))
    kinds = set()
    for _ in range(200):
        todo = [make.protocol()]
        while todo:
            node = todo.pop()
            kinds.add(type(node))
            todo += node.children()
    assert {Sequence, Choice, Recursion, Interleaving, Action} <= kinds
