"""The release gate: the machine agrees with the reference semantics, and a wrong machine would be noticed."""

from __future__ import annotations

import os
from random import Random

import pytest

from accord.language.tree import Action, Choice, End, Interleaving, Recursion, Sequence, Variable, sequence
from accord.machine import compiler, configurations, minimise, standing
from accord.machine.tables import Fork, Plain
from tests.properties.differential import campaign, monitor_for

CHUNKS = 40 if os.environ.get("ACCORD_SOAK") else 4
PAIRS = 50_000 if os.environ.get("ACCORD_SOAK") else 5_000


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_machine_agrees_with_reference(seed, health):
    seen, difference = campaign(seed, PAIRS)
    assert difference is None
    assert seen.pairs >= PAIRS
    seen.check_floors()
    health(seen.sentence())


# -- planted bugs ------------------------------------------------------------------------------------------------------


def rebuilt(node, change, scope=()):
    """The tree with `change` applied to every node, bottom up."""
    if isinstance(node, Sequence):
        node = sequence([rebuilt(step, change, scope) for step in node.steps])
    elif isinstance(node, Choice):
        node = Choice(tuple(rebuilt(branch, change, scope) for branch in node.branches))
    elif isinstance(node, Interleaving):
        node = Interleaving(tuple(rebuilt(part, change, ()) for part in node.parts))
    elif isinstance(node, Recursion):
        node = Recursion(node.variable, rebuilt(node.body, change, (*scope, node.variable)))
    return change(node, scope)


def jumps_to_the_outermost_loop(node, scope):
    return Variable(scope[0]) if isinstance(node, Variable) else node


def last_branch_does_not_fall_through(node, _):
    if not isinstance(node, Choice) or isinstance(node.branches[-1], End | Sequence):
        return node
    return Choice((*node.branches[:-1], sequence([node.branches[-1], End()])))


def partners_are_forgotten(node, _):
    return Action(node.direction, node.label) if isinstance(node, Action) else node


@pytest.mark.parametrize(
    "bug", [jumps_to_the_outermost_loop, last_branch_does_not_fall_through, partners_are_forgotten]
)
def test_planted_miscompilation_is_caught(bug):
    def miscompiled(body, rng: Random):
        return monitor_for(rebuilt(body, bug), rng)

    seen, difference = campaign(7, 5_000, miscompiled)
    assert difference is not None, seen.sentence()


def forgets_where_sessions_may_stop(monkeypatch):
    def equivalent(machine, reachable, original=minimise._equivalent):
        def blunt(state):
            return Fork(state.parts, state.join) if isinstance(state, Fork) else Plain(state.edges)

        return original(type(machine)(machine.symbols, tuple(map(blunt, machine.states))), reachable)

    monkeypatch.setattr(minimise, "_equivalent", equivalent)


def drops_parts_that_could_still_go_on(monkeypatch):
    def side_by_side(machine, join, parts, original=configurations._side_by_side):
        return original(machine, join, [part for part in parts if not configurations.may_end(machine, part)])

    monkeypatch.setattr(configurations, "_side_by_side", side_by_side)


def follows_only_one_possibility(monkeypatch):
    original = standing.Standings.at
    monkeypatch.setattr(standing.Standings, "at", lambda self, found: original(self, frozenset([min(found)])))


def never_pauses(monkeypatch):
    original = compiler._Draft.states_that_can_end
    monkeypatch.setattr(
        compiler._Draft, "states_that_can_end", lambda self: set(range(len(self.edges))) | original(self)
    )


def equal_parts_are_one(monkeypatch):
    def side_by_side(machine, join, parts, original=configurations._side_by_side):
        return original(machine, join, list(set(parts)))

    monkeypatch.setattr(configurations, "_side_by_side", side_by_side)


@pytest.mark.parametrize(
    "plant",
    [
        forgets_where_sessions_may_stop,
        drops_parts_that_could_still_go_on,
        follows_only_one_possibility,
        never_pauses,
        equal_parts_are_one,
    ],
)
def test_planted_bug_in_the_machine_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    seen, difference = campaign(11, 5_000)
    assert difference is not None, seen.sentence()
