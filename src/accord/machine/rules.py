"""Rules compiled to small machines of their own, run side by side with the protocol and with each other.

A rule's state is three small things: which bare labels have been called (after that, `?label` is the result of a call),
how often each message of its condition has happened (up to the number that matters), and one number whose meaning
belongs to the form of the rule. `RuleNode` is such a state with the steps out of it remembered, so that a step that
was taken before is one dictionary look-up. States are computed when they are met, never multiplied out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.details import print_rule
from accord.language.rules import Within
from accord.machine.conditions import Atom, Outcome, counts_as
from accord.machine.guards import compile_guard, describe_failure
from accord.machine.rule_forms import Form, RuleState, form_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.language.rules import Pattern, Rule
    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.rulebook import RuleBook
    from accord.machine.tables import Symbol

__all__ = ["RuleMachine", "RuleNode"]


class RuleNode:
    """A state of a rule. `links` maps what happened to the next node; what is not there has to be computed."""

    __slots__ = ("_hash", "links", "machine", "owes", "shared", "state")

    def __init__(self, machine: RuleMachine, state: RuleState) -> None:
        self.machine = machine
        self.state = state
        self.owes = machine.owes(state)
        self.shared = False
        """Whether all sessions in this state meet this very object."""
        self.links: dict[object, RuleNode] = {}
        self._hash = hash(state)

    def __eq__(self, other: object) -> bool:
        # One that is shared is the only one of its kind; others are the same if their states are.
        if self is other or not isinstance(other, RuleNode) or (self.shared and other.shared):
            return self is other
        return self.machine is other.machine and self.state == other.state

    def __hash__(self) -> int:
        return self._hash

    def armed(self, direction: Direction) -> bool:
        """Whether the next event of this direction matters whatever it is."""
        return self.machine.form.armed(self.state, direction)


class RuleMachine:
    """One rule, compiled."""

    def __init__(self, rule: Rule, book: RuleBook, limits: Limits) -> None:
        self.rule = rule
        self.book = book
        self.text = " ".join(print_rule(rule))
        self.patterns: list[Pattern] = []
        self.atoms: list[Atom] = []
        self.form: Form = form_of(self, rule.body)
        self.guards = [[compile_guard(guard) for guard in pattern.guards] for pattern in self.patterns]
        bare = [pattern.label for pattern in self.patterns if pattern.direction is None]
        self.bits = {label: 1 << index for index, label in enumerate(dict.fromkeys(bare))}
        self.by_label: dict[str, list[int]] = {}
        for index, pattern in enumerate(self.patterns):
            self.by_label.setdefault(pattern.label, []).append(index)
        # Labels for which direction and label alone decide what this rule makes of an event.
        self.each = rule.each
        self.is_timed = isinstance(rule.body, Within)
        alone = not self.is_timed and self.each is None
        self.plain_labels = {
            label
            for label, indices in self.by_label.items()
            if alone and all(not self.patterns[i].guards and not self.patterns[i].gated for i in indices)
        }
        self._most = limits.remembered_standings
        self._nodes: dict[RuleState, RuleNode] = {}
        self.start = self.node(RuleState(0, (0,) * len(self.atoms), 0))

    @property
    def watched(self) -> frozenset[tuple[Direction, str]]:
        """The events this rule looks at."""
        found: set[tuple[Direction, str]] = set()
        for pattern in self.patterns:
            directions: tuple[Direction, ...] = (pattern.direction,) if pattern.direction else ("!", "?")
            found.update((direction, pattern.label) for direction in directions)
        return frozenset(found)

    def add_pattern(self, pattern: Pattern) -> int:
        """The number of a pattern; equal ones share it."""
        if pattern not in self.patterns:
            self.patterns.append(pattern)
        return self.patterns.index(pattern)

    def node(self, state: RuleState) -> RuleNode:
        """The node of a state, shared with all sessions while there is room."""
        known = self._nodes.get(state)
        if known is not None:
            return known
        fresh = RuleNode(self, state)
        if len(self._nodes) >= self._most or state.due is not None:
            return fresh
        fresh.shared = True
        return self._nodes.setdefault(state, fresh)

    def outcomes(self, called: int, event: Event) -> tuple[Outcome, ...]:
        """For each pattern whether the event fits it; `called` has a bit for each bare label that has been called."""
        found: list[Outcome] = [False] * len(self.patterns)
        for index in self.by_label.get(event.label, ()):
            pattern = self.patterns[index]
            if not self.applies(called, pattern, event.direction) or (pattern.gated and event.by is None):
                continue
            results = [guard(event.payload) for guard in self.guards[index]]
            found[index] = False if False in results else None if None in results else True
        return tuple(found)

    def outcomes_later(self, called: int, direction: Direction, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        """The outcomes of an event that had these before, now that more labels have been called."""
        return tuple(
            [
                outcome if self.applies(called, pattern, direction) else False
                for pattern, outcome in zip(self.patterns, outcomes, strict=True)
            ]
        )

    def why_undecided(self, outcomes: tuple[Outcome, ...], payload: Mapping[str, object]) -> tuple[str, ...]:
        """In words, what of a payload leaves open whether it fits."""
        reasons = []
        for index, outcome in enumerate(outcomes):
            if outcome is None:
                pattern = self.patterns[index]
                for guard, decide in zip(pattern.guards, self.guards[index], strict=True):
                    if decide(payload) is None:
                        reasons.append(describe_failure(guard, payload))
        return tuple(dict.fromkeys(reasons))

    def applies(self, called: int, pattern: Pattern, direction: Direction) -> bool:
        """Whether a pattern looks at this direction now."""
        if pattern.direction is not None:
            return pattern.direction == direction
        return direction == "!" or not called & self.bits[pattern.label]

    def react(self, node: RuleNode, event: Event) -> RuleNode | None:
        """The node after an event, or `None` if the rule refuses it."""
        key = (event.direction, event.label)
        known = node.links.get(key)
        if known is not None:
            return known
        outcomes = self.outcomes(node.state.called, event)
        following = self.advance(node, event.direction, event.label, outcomes, event.time)
        # INVARIANT: only what has happened is linked by its label alone; what somebody imagines of it may be wrong.
        if following is not None and event.label in self.plain_labels and node.shared and following.shared:
            node.links[key] = following
        return following

    def advance(
        self, node: RuleNode, direction: Direction, label: str, outcomes: tuple[Outcome, ...], at: Time = 0
    ) -> RuleNode | None:
        """As `react`, where it is known which patterns the event fits."""
        key = (direction, label, outcomes)
        known = node.links.get(key)
        if known is not None:
            return known
        state = node.state
        after = self.form.step(state, direction, outcomes, at)
        if after is None:
            return None
        if direction == "!" and label in self.bits and self.each is None:  # which a slice knows for all instances
            after = after._replace(called=after.called | self.bits[label])
        following = self.node(after)
        if node.shared and following.shared:  # what is not shared would be kept alive
            node.links[key] = following
        return following

    def growing(self, fits: Iterable[tuple[Outcome, ...]]) -> frozenset[int]:
        """The atoms that count one of these events, of each of which it is known which patterns it fits."""
        counting: set[int] = set()
        for outcomes in fits:
            atoms = enumerate(self.atoms)
            counting.update(place for place, atom in atoms if counts_as(outcomes[atom.pattern], atom.negative))
        return frozenset(counting)

    def calling(self, node: RuleNode, symbol: Symbol) -> RuleNode:
        """The node of an instance, if what the whole session knows was part of it: that this label has been called."""
        bit = self.bits.get(symbol.label, 0) if symbol.direction == "!" and self.each is not None else 0
        return self.node(node.state._replace(called=node.state.called | bit)) if bit else node

    def late(self, node: RuleNode) -> RuleNode:
        """The node after the time of what it required was over."""
        return self.node(self.form.late(node.state))

    def imagined(self, state: RuleState, symbol: Symbol, *, helpful: bool) -> tuple[Outcome, ...]:
        """Outcomes for an event whose payload is not known; see `RuleBook.imagine`."""
        wanted = {atom.pattern for atom in self.atoms if not atom.negative} | set(self.form.answers)
        found: list[Outcome] = [False] * len(self.patterns)
        for index in self.by_label.get(symbol.label, ()):
            pattern = self.patterns[index]
            certain = not pattern.guards and (not pattern.gated or symbol.gated)
            possible = not pattern.gated or symbol.gated
            if self.applies(state.called, pattern, symbol.direction):
                found[index] = certain or (helpful and possible and index in wanted)
        return tuple(found)

    def describe(self, state: RuleState) -> str:
        """What the rule has seen of the session, in words."""
        return self.form.describe(state)

    @property
    def has_adjacency(self) -> bool:
        """Whether the rule is about what comes at once after what."""
        return self.form.adjacent_links

    def counted(self, state: RuleState, outcomes: tuple[Outcome, ...]) -> tuple[int, ...]:
        """How often each message of the condition has happened after this event."""
        return tuple(
            min(count + 1, atom.most) if counts_as(outcomes[atom.pattern], atom.negative) else count
            for count, atom in zip(state.counts, self.atoms, strict=True)
        )

    def may_be_in(self, state: RuleState) -> bool:
        """Whether a session can have led to that state, as far as it can be told without the session."""
        called = state.called < 1 << len(self.bits)
        counts = all(count <= atom.most for count, atom in zip(state.counts, self.atoms, strict=True))
        return called and counts and self.form.may_be_in(state)

    def owes(self, state: RuleState) -> bool:
        """Whether the session may not end here."""
        return self.form.owes(state)
