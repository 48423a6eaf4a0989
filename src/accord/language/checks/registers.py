"""E040, E041, E044: registers are bound before they are read, one way only, and not shared between parts.

Which registers can be bound where is a question about ways, and ways through loops repeat. So the registers that *can*
be bound at a place are collected by going through the text in order, once more for each loop that binds something,
until nothing changes.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, did_you_mean
from accord.language.clauses import Bind, Collect, Guard, Register
from accord.language.tree import Action, Choice, Deadline, Interleaving, Recursion, Sequence, Variable

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.clauses import Clause
    from accord.language.tree import Protocol

__all__ = ["check"]

_MOST_PASSES = 8


def _actions(body: Protocol) -> list[Action]:
    found: list[Action] = []
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            found.append(node)
        todo += reversed(node.children())
    return found


def _read(clause: Clause) -> str | None:
    return clause.operand.name if isinstance(clause, Guard) and isinstance(clause.operand, Register) else None


def _written(clause: Clause) -> str | None:
    return None if isinstance(clause, Guard) else clause.register


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """All findings about registers."""
    actions = [action for action in _actions(body) if action.clauses]
    if not actions:
        return []
    clauses = [clause for action in actions for clause in action.clauses]
    shared = _shared(body, source)
    told = {finding.span for finding in shared}
    unbound = [finding for finding in _unbound(body, clauses, source) if finding.span not in told]
    return [*_two_ways(clauses, source), *shared, *unbound]


def _two_ways(clauses: list[Clause], source: Source) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    first: dict[str, Clause] = {}
    for clause in clauses:
        name = _written(clause)
        if name is None:
            continue
        other = first.setdefault(name, clause)
        if type(other) is not type(clause):
            findings.append(
                Diagnostic(
                    "E044",
                    f"register `{name}` is both bound and collected into",
                    source,
                    clause.span,
                    help="use two names: one for the value, one for the set",
                    notes=(Note(other.span, "used the other way here"),),
                )
            )
    sets = {name for name, clause in first.items() if isinstance(clause, Collect)}
    for clause in clauses:
        name = _read(clause)
        if name in sets and isinstance(clause, Guard) and clause.operator not in {"in", "not in"}:
            message = f"`{name}` is a set: it cannot be compared with `{clause.operator}`"
            findings.append(Diagnostic("E044", message, source, clause.span, help="ask with `in` or `not in`"))
    return findings


def _shared(body: Protocol, source: Source) -> list[Diagnostic]:
    """A part of an interleaving may not write what another part uses."""
    findings: list[Diagnostic] = []
    todo = [body]
    while todo:
        node = todo.pop()
        todo += reversed(node.children())
        if not isinstance(node, Interleaving):
            continue
        used: dict[str, tuple[int, Span, bool]] = {}
        for index, part in enumerate(node.parts):
            for action in _actions(part):
                for clause in action.clauses:
                    name = _written(clause) or _read(clause)
                    if name is None:
                        continue
                    writes = _written(clause) is not None
                    earlier = used.get(name)
                    if earlier is not None and earlier[0] != index and (writes or earlier[2]):
                        findings.append(
                            Diagnostic(
                                "E041",
                                f"register `{name}` is shared between parts that run side by side",
                                source,
                                clause.span,
                                help="give each part a register of its own",
                                notes=(Note(earlier[1], "used by another part here"),),
                            )
                        )
                        break
                    if earlier is None or writes:
                        used[name] = (index, clause.span, writes)
    return findings


def _unbound(body: Protocol, clauses: list[Clause], source: Source) -> list[Diagnostic]:
    sets = {clause.register for clause in clauses if isinstance(clause, Collect)}
    readers = {_read(clause) for clause in clauses} - {None} - sets
    if not readers:
        return []
    names = dict.fromkeys(clause.register for clause in clauses if isinstance(clause, Bind))
    bits = {name: 1 << index for index, name in enumerate(names)}
    bound_before = _bound_before(body, bits)
    findings: list[Diagnostic] = []
    for action in _actions(body):
        bound = bound_before.get(id(action), 0)
        for clause in action.clauses:
            name = _read(clause)
            if name is not None and name not in sets and not bound & bits.get(name, 0):
                meant = did_you_mean(name, names)
                help_ = f"bind it first: `?message(field as {name})`"
                if meant:
                    help_ = f"did you mean `{meant}`?"
                elif name in names:
                    help_ = "it is bound, but on no way that leads here"
                findings.append(
                    Diagnostic("E040", f"register `{name}` is never bound before this", source, clause.span, help=help_)
                )
            elif isinstance(clause, Bind):
                bound |= bits[clause.register]
    return findings


def _bound_before(body: Protocol, bits: dict[str, int]) -> dict[int, int]:
    """For each action with clauses, the registers that some way to it has bound, as a set of bits."""
    at_loop: dict[int, int] = {}
    for _ in range(_MOST_PASSES):
        before: dict[int, int] = {}
        known = dict(at_loop)
        _Pass(before, at_loop, bits).run(body)
        if at_loop == known:
            return before
    # Loops nested deeper than anybody reads: taken as if every jump could have bound everything. What that misses is
    # found when it happens.
    everything = (1 << len(bits)) - 1
    before = {}
    _Pass(before, dict.fromkeys(at_loop, everything), bits).run(body)
    return before


class _Pass:
    """One pass through the text. Values flow on a stack beside the nodes, so that depth costs no recursion.

    A value is a set of registers, as bits, or `None` behind what nothing gets past: such a branch adds nothing to what
    follows.
    """

    def __init__(self, before: dict[int, int], at_loop: dict[int, int], bits: dict[str, int]) -> None:
        self.before = before
        self.at_loop = at_loop
        self.bits = bits
        self.parts_entered = 0
        self.scope: dict[str, list[int]] = {}
        self.results: list[int | None] = [0]  # what may be bound behind the node just finished
        self.inputs: list[int | None] = []

    def run(self, body: Protocol) -> None:
        # "enter" a node with the top of `results` as what is bound before it; the others put results together again.
        todo: list[tuple[str, Protocol | str]] = [("enter", body)]
        while todo:
            task, node = todo.pop()
            if task == "leave" and isinstance(node, str):
                self.scope[node].pop()
            elif task == "branch":
                self.results.append(self.inputs[-1])
            elif task == "merge" and isinstance(node, Choice | Deadline | Interleaving):
                count = len(node.children())
                found = [result for result in self.results[-count:] if result is not None]
                del self.results[-count:]
                self.inputs.pop()
                self.results.append(reduce(or_, found) if found else None)
                self.parts_entered -= isinstance(node, Interleaving)
            elif not isinstance(node, str):
                todo += self.enter(node)

    def enter(self, node: Protocol) -> list[tuple[str, Protocol | str]]:
        """What is to be done for a node, last first."""
        bound = self.results[-1]
        if isinstance(node, Action):
            if bound is not None and node.clauses:
                self.before[id(node)] = self.before.get(id(node), 0) | bound
                for clause in node.clauses:
                    bound |= self.bits[clause.register] if isinstance(clause, Bind) else 0
                self.results[-1] = bound
        elif isinstance(node, Sequence):
            return [("enter", step) for step in reversed(node.steps)]
        elif isinstance(node, Choice | Deadline | Interleaving):  # late, nothing more is bound than before
            self.inputs.append(self.results.pop())
            self.parts_entered += isinstance(node, Interleaving)
            tasks: list[tuple[str, Protocol | str]] = [("merge", node)]
            for child in reversed(node.children()):
                tasks += [("enter", child), ("branch", node)]
            return tasks
        elif isinstance(node, Recursion):
            if bound is not None:
                self.results[-1] = bound | self.at_loop.get(id(node), 0)
            self.scope.setdefault(node.variable, []).append(id(node))
            return [("leave", node.variable), ("enter", node.body)]
        elif isinstance(node, Variable):
            if bound is not None and self.scope.get(node.name):
                loop = self.scope[node.name][-1]
                self.at_loop[loop] = self.at_loop.get(loop, 0) | bound
            self.results[-1] = None
        elif not self.parts_entered:  # `end` outside an interleaving; inside, only the part is over
            self.results[-1] = None
        return []
