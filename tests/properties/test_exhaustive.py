"""Every small protocol there is, compared completely: all reachable pairs of reference state and machine standing."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from accord import semantics
from accord.diagnostics import Source
from accord.language.checks import check_document
from accord.language.tree import (
    Action,
    Choice,
    Declaration,
    Document,
    End,
    Interleaving,
    Recursion,
    Sequence,
    Variable,
    first_step,
    sequence,
)
from accord.limits import DEFAULT_LIMITS
from accord.machine import compile_document
from tests.properties.generate import size

ACTIONS = (Action("!", "a"), Action("?", "b"))


@cache
def protocols(nodes: int) -> tuple:
    """All trees of exactly that many leaves, choices, loops and interleavings, well-formed or not."""
    if nodes == 1:
        return (*ACTIONS, End(), Variable("X"))
    found = []
    for first in range(1, nodes):
        for left, right in product(protocols(first), protocols(nodes - first)):
            if not isinstance(left, Sequence):
                found.append(sequence([left, right]))
    inner = nodes - 1
    found += [Recursion("X", body) for body in protocols(inner)]
    for first in range(1, inner):
        for left, right in product(protocols(first), protocols(inner - first)):
            if first <= inner - first:
                found.append(Interleaving((left, right)))
            heads = [first_step(left), first_step(right)]
            if isinstance(heads[0], Action) and (isinstance(heads[1], Action) or isinstance(right, End)):
                found.append(Choice((left, right)))
    return tuple(dict.fromkeys(found))


def well_formed(body) -> Document | None:
    document = Document((Declaration(None, body),), Source(""))
    return None if check_document(document, DEFAULT_LIMITS) else document


def difference(body, document) -> str | None:
    """Walk reference and machine in step through everything that can happen."""
    pair = (semantics.start(body), compile_document(document).standings().start)
    seen, todo = {pair}, [(pair, ())]
    while todo:
        (state, here), way = todo.pop()
        words = tuple(sorted(semantics.word(action) for action in semantics.moves(state)))
        if words != here.allowed or semantics.is_complete(state) != here.complete:
            return f"{body!r} after {way}: reference {words}, machine {here.allowed}"
        for action in semantics.moves(state):
            following = here.follow(action.direction, action.label)
            after = (semantics.step(state, action.direction, action.label), following)
            if after not in seen:
                seen.add(after)
                todo.append((after, (*way, semantics.word(action))))
    return None


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_every_small_protocol_means_the_same_to_both(nodes, health, soak):
    bodies = protocols(nodes)
    step = 1 if soak or nodes < 5 else 7
    checked = 0
    for body in bodies[::step]:
        assert size(body) >= 1
        document = well_formed(body)
        if document is not None:
            checked += 1
            assert difference(body, document) is None
    floor = {1: 3, 2: 6, 3: 20, 4: 150, 5: 200}[nodes]
    assert checked >= floor
    health(f"exhaustive: {checked:,} well-formed protocols among {len(bodies[::step]):,} of {nodes} nodes, all runs")
