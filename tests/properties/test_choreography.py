"""The gate for projection: roles that follow theirs do what the protocol says, and a wrong projection is noticed."""

from __future__ import annotations

import os
from itertools import islice
from random import Random

import pytest

from accord.choreography import availability, compiler, implementability, product, views
from accord.choreography.tables import GlobalMachine, Move
from accord.choreography.writing import local_protocol
from accord.diagnostics import Source
from accord.language import parse, print_protocol
from accord.language.global_tree import GlobalChoice
from accord.language.tree import Declaration
from accord.limits import DEFAULT_LIMITS
from accord.machine.compiler import compile_declaration
from accord.machine.tables import Machine, Plain
from accord.semantics.crew import explore
from accord.semantics.exchanges import TooLongError, agrees
from tests.properties import choreographing
from tests.properties.choreographing import campaign, followed, unfolded
from tests.properties.generate_globals import random_global
from tests.properties.playing import parts_of

SOAK = bool(os.environ.get("ACCORD_SOAK"))
PROTOCOLS = 50_000 if SOAK else 5_000
CHUNKS = 10 if SOAK else 1


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_roles_follow_their_projections(seed, parts, health):
    seen, difference = campaign(1 + seed, PROTOCOLS, parts=parts)
    assert difference is None
    seen.check_floors()
    assert not parts or seen.undecided * 20 >= seen.protocols
    health(seen.sentence())


@pytest.mark.parametrize("parts", [False, True])
def test_everything_the_roles_can_do_agrees_with_the_protocol(parts, health):
    """All moments, not some by chance, on the reference interpreter of local protocols."""
    rng = Random(7)
    protocols = moments = given_up = 0
    while protocols < (2_000 if SOAK else 80):
        document = random_global(rng, parts=parts)
        crew = followed(document)
        if crew is None:
            continue
        protocols += 1
        for moment in explore(crew, 8):
            moments += 1
            try:
                assert agrees(*parts_of(document), moment.histories), moment
            except TooLongError:  # loops of parts inside parts, which the reference searches for ever
                given_up += 1
            if moment.stuck:
                assert moment.all_may_stop and not any(moment.channels.values()), moment
    assert moments > 10 * protocols
    assert given_up <= (moments / 1_000 if parts else 0)
    health(
        f"choreographies: {moments:,} moments of {protocols:,} crews, everything they can do in 8 deeds; "
        f"the reference gave up on {given_up}"
    )


def goes_wrong(document, deeds=12, most=400) -> bool:
    """Whether the projections of a refused protocol get stuck or leave it, as far as a short search sees."""
    machine = choreographing.machine_for(document)
    crew = {}
    for role in machine.roles:
        crew[role] = local_protocol(views.machine_of(views.view_of(machine, role, 10_000), machine))
    for moment in islice(explore(crew, deeds), most):
        lost = moment.stuck and (any(moment.channels.values()) or not moment.all_may_stop)
        if lost or not agrees(*parts_of(document), moment.histories):
            return True
    return False


def test_what_is_refused_would_go_wrong(health):
    """Projection is the best that roles can do, so if a protocol could be followed, its projections would do it."""
    rng = Random(23)
    refused = wrong = 0
    while refused < (1_000 if SOAK else 60):
        document = random_global(rng)
        if followed(document) is None:
            refused += 1
            wrong += goes_wrong(document)
    health(f"choreographies: {wrong:,} of {refused:,} refused ones go wrong within 12 deeds")
    assert wrong * 5 >= refused * 4  # the rest needs longer runs


def test_a_projection_prints_parses_and_compiles_to_the_role_s_machine(health):
    rng = Random(11)
    written = longest = beside = 0
    while written < (20_000 if SOAK else 800):
        document = random_global(rng, parts=rng.random() < 0.7)
        crew = followed(document)
        for role, tree in (crew or {}).items():
            written += 1
            text = print_protocol(tree)
            longest = max(longest, len(text))
            beside += "|" in text
            (declaration,) = parse(text).declarations
            assert declaration.body == tree
            machine = compile_declaration(Declaration(None, tree), Source(""), DEFAULT_LIMITS)
            view = views.view_of(choreographing.machine_for(document), role, 100_000)
            made = views.machine_of(view, choreographing.machine_for(document))
            assert unfolded(machine) == unfolded(made), document
    assert beside * 50 > written
    health(f"projections: {written:,} compiled to its machine, {beside:,} with parts; the longest in {longest:,} signs")


# -- planted bugs ------------------------------------------------------------------------------------------------------


def nobody_ever_doubts(monkeypatch):
    monkeypatch.setattr(implementability, "doubts_of", lambda *_: [])


def sending_is_not_checked(monkeypatch):
    monkeypatch.setattr(implementability._Judge, "sending", lambda *_: None)


def receiving_is_not_checked(monkeypatch):
    monkeypatch.setattr(implementability._Judge, "receiving", lambda *_: None)


def sending_and_waiting_is_not_checked(monkeypatch):
    monkeypatch.setattr(implementability._Judge, "both", lambda *_: None)


def nobody_is_held_back(monkeypatch):
    real = availability.Availability.__init__

    def init(self, *arguments):
        real(self, *arguments)
        self.ends = [(sender, 0) if receiver != self.me else (sender, receiver) for sender, receiver in self.ends]

    monkeypatch.setattr(availability.Availability, "__init__", init)


def the_last_edge_is_forgotten(monkeypatch):
    real = views.machine_of

    def forgetful(view, machine):
        made = real(view, machine)
        states = [Plain(s.edges[:-1], s.stop) if len(s.edges) > 2 else s for s in made.states]
        return Machine(made.symbols, tuple(states), made.name)

    monkeypatch.setattr(views, "machine_of", forgetful)


def nothing_unseen_is_followed(monkeypatch):
    real = views.view_of

    def shortsighted(machine, role, most):
        view = real(machine, role, most)
        kept = tuple(frozenset(sorted(subset)[:-1]) if len(subset) > 3 else subset for subset in view.subsets)
        edges = tuple(
            {
                message: target
                for message, target in row.items()
                if any(m[0] == message for s in kept[i] for m in machine.moves[s])
            }
            for i, row in enumerate(view.edges)
        )
        return views.View(view.role, view.own, kept, edges)

    monkeypatch.setattr(views, "view_of", shortsighted)


def every_role_may_stop_anywhere(monkeypatch):
    real = views.machine_of

    def lazy(view, machine):
        made = real(view, machine)
        return Machine(made.symbols, tuple(Plain((), "end") if s.stop == "end" else s for s in made.states))

    monkeypatch.setattr(views, "machine_of", lazy)


def branches_share_the_state_of_their_choice(monkeypatch):
    """As it once was: a loop at the head of a branch came back to the choice, and a `par` there hid the others."""
    real = compiler._Draft.step

    def shared(self, step, task, todo):
        before = len(todo)
        real(self, step, task, todo)
        if task.entry in self.branches and isinstance(step, GlobalChoice):
            starts = self.branches.pop(task.entry)
            todo[before:] = [t._replace(entry=task.entry) if t.entry in starts else t for t in todo[before:]]

    monkeypatch.setattr(compiler._Draft, "step", shared)


def a_branch_with_parts_hides_the_others(monkeypatch):
    real = compiler._Draft.finish

    def hiding(self, most):
        for choice, starts in self.branches.items():
            self.branches[choice] = next(((start,) for start in starts if start in self.forks), starts)
        return real(self, most)

    monkeypatch.setattr(compiler._Draft, "finish", hiding)


@pytest.mark.parametrize(
    "plant",
    [
        branches_share_the_state_of_their_choice,
        nobody_ever_doubts,
        sending_is_not_checked,
        receiving_is_not_checked,
        sending_and_waiting_is_not_checked,
        nobody_is_held_back,
        the_last_edge_is_forgotten,
        nothing_unseen_is_followed,
        every_role_may_stop_anywhere,
    ],
)
def test_a_planted_bug_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert any(campaign(seed, 2_000)[1] is not None for seed in range(3))


def parts_are_never_over(monkeypatch):
    real = product.Move

    def joined(message, target, node, joins=frozenset()):
        return real(message, target, node)

    monkeypatch.setattr(product, "Move", joined)


def all_parts_share_channels_freely(monkeypatch):
    monkeypatch.setattr(implementability, "shared_channel", lambda _: None)


def everything_is_parallel(monkeypatch):
    monkeypatch.setattr(GlobalMachine, "parallel", lambda self, *_: self.has_parts)


# Chance rarely makes a loop around parts in which one part can be a round ahead of the other, or a quarrel over what
# comes first beside a `par` that has nothing to do with it.
QUARRELS = (
    """protocol P { rec X {
        par { Q -> P: m } and { choice at R { R -> P: n } or { R -> Z: skip } }
        continue X
    } }""",
    """protocol P {
        par { Z -> Y: unrelated } and { Z -> W: unrelated }
        choice at A { A -> B: l; A -> C: one; B -> C: two } or { A -> B: r; B -> C: two; A -> C: one }
    }""",
    """protocol P {
        par { Z -> Y: unrelated } and { Z -> W: unrelated }
        choice at Q { Q -> P: y; P -> R: x } or { Q -> R: z; P -> R: x; Q -> P: y }
    }""",
)


def quarrels(seed):
    rng, seen = Random(seed), choreographing.Seen()
    for text in QUARRELS:
        for _ in range(300):
            yield choreographing.judge(parse(text), rng, seen)


def test_quarrels_between_and_beside_parts_are_refused():
    assert not any(quarrels(0))
    assert all(followed(parse(text)) is None for text in QUARRELS)


@pytest.mark.parametrize(
    "plant",
    [
        a_branch_with_parts_hides_the_others,
        parts_are_never_over,
        all_parts_share_channels_freely,
        everything_is_parallel,
    ],
)
def test_a_planted_bug_about_parts_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert any(quarrels(0)) or any(campaign(seed, 3_000, parts=True)[1] is not None for seed in range(4))


def test_the_moves_of_a_state_differ():
    """What the search for two runs relies on."""
    rng = Random(3)
    for _ in range(500):
        machine = choreographing.machine_for(random_global(rng))
        for moves in machine.moves:
            assert all(isinstance(move, Move) for move in moves)
            assert len({move.message for move in moves}) == len(moves)
