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
from tests.census import Census
from tests.properties.generate import size
from tests.properties.made import block
from tests.properties.places import NAMES, PLACES, cells

CONSTRUCTS = tuple(name for name in NAMES.values() if name != "deadline")
PLACES_WITHOUT_TIME = tuple(place for place in PLACES if place not in {"late head", "behind deadline"})
NEVER = (
    block(["choice", "loop", "jump", "parts"], ["branch head"], "a message tells the branch")
    | block(["jump"], ["protocol head", "part head"], "no loop is around it")
    | block(["jump"], ["loop head"], "there is one name of loops, and it would turn without a message")
    | block(["end"], ["protocol head"], "that is all of it, one node")
    | block(["choice", "parts"], ["behind choice", "behind parts"], "that takes six nodes")
)
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
def test_every_small_protocol_means_the_same_to_both(nodes, health):
    bodies = protocols(nodes)
    checked = 0
    census = Census(f"protocols of {nodes} nodes", CONSTRUCTS, PLACES_WITHOUT_TIME, NEVER)
    for body in bodies:
        assert size(body) >= 1
        document = well_formed(body)
        if document is not None:
            checked += 1
            census.add(cells(body))
            assert difference(body, document) is None
    assert checked == {1: 3, 2: 9, 3: 48, 4: 270, 5: 1_648}[nodes]
    health(f"exhaustive: {checked:,} well-formed protocols among {len(bodies):,} of {nodes} nodes, all runs")
    if nodes == 5:
        census.check(1)
        health(census.table())
