"""The projection of a contract: which event a happening is, and whom it reaches.

A contract is closed for what the agent does and what the program reports, and open for what comes back and what is
said: an end of a call or a text that the protocol does not name is no business of the protocol. It goes to the rules
that watch it, as an event that is `to_rules`, and if there is none it is no event at all.

Everything that kind and name decide is worked out once and kept; a happening then costs a look-up, the tests of those
lines of the events that look further, and its payload. INVARIANT: payloads are made by whoever happened (`payloads`),
and only if somebody looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from accord.diagnostics import did_you_mean
from accord.language.events import Named
from accord.language.labels import normalise, print_label, print_word
from accord.machine.events import NO_PAYLOAD, Event
from accord.monitor.verdicts import UNRECOGNIZED
from accord.projection.happenings import ENDS
from accord.projection.labels import Label, labeller_of

if TYPE_CHECKING:
    from accord.language.tools import Failure
    from accord.language.tree import Direction
    from accord.machine.contract import Contract
    from accord.projection.happenings import Happened, Kind
    from accord.projection.labels import Test

__all__ = ["Outcome", "Possible", "Projected", "Projection", "projection_of"]

Outcome: TypeAlias = Literal["event", "ignored", "unmatched", "unknown call", "unnamed"]

_MOST_KNOWN = 10_000
"""Names of which is kept what they are; those of a hostile recording have no end."""


class Projected(NamedTuple):
    """What a happening is.

    `event`: an event of the contract. `ignored`: the events say that it is none. `unmatched`: nobody looks at it.
    `unknown call`: a call that the events of a closed protocol do not name, so it is refused. `unnamed`: an event of
    the program that no clause names; it has an `event` where a closed protocol refuses it.
    """

    outcome: Outcome
    event: Event | None = None
    label: Label | None = None
    """The label, and which line of the events gives it."""
    looks: bool = False
    """Whether something in the contract looks at its payload."""


Possible: TypeAlias = "list[tuple[Test | None, Projected]]"
"""What a happening can be: the first whose test it passes; the last has none."""

_UNMATCHED = Projected("unmatched")


def projection_of(contract: Contract, protocol: str | None = None) -> Projection:
    """The projection of a contract with one of its protocols, made once.

    Raises `UsageError` if it has several and none is named, or has none of that name.
    """
    name = contract.protocol_name(protocol)
    known = contract.kept.get(("projection", name or ""))
    if known is None:
        known = contract.kept.setdefault(("projection", name or ""), Projection(contract, name))
    assert isinstance(known, Projection)  # noqa: S101 - kept under this name
    return known


class Projection:
    """Made by `projection_of`.

    Example:
        >>> import accord
        >>> from accord.projection import Happening, projection_of
        >>> projection = projection_of(accord.compile("!pay.?pay(error == null).end"))
        >>> call = Happening("call", "pay", {"amount": 5}, "c1")
        >>> projection.event(Happening("result", "pay", {"receipt": 7}, call=call)).event.payload
        {'receipt': 7, 'error': None, 'call': {'amount': 5}, 'call_id': 'c1'}
        >>> projection.event(Happening("user", value="Hello")).outcome
        'unmatched'
    """

    __slots__ = (
        "_ends",
        "_is_sliced",
        "_known",
        "_looked_at",
        "_named",
        "_received",
        "_watched",
        "closed",
        "contract",
        "gated",
        "has_protocol",
        "is_timed",
        "labeller",
        "protocol",
    )

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        self.contract = contract
        self.protocol = protocol
        self.labeller = labeller_of(contract)
        stages = contract.stages(protocol)
        machine = stages.machine
        rules = stages.book.machines
        self.has_protocol = bool(contract.machines)
        self.closed = self.has_protocol and not machine.is_open
        """Whether a call that nothing names is refused."""
        self.is_timed = stages.is_timed
        self.gated = any(symbol.gated for symbol in machine.symbols) or any(
            pattern.gated for rule in rules for pattern in rule.patterns
        )
        """Whether it matters who made a step."""
        self._named = frozenset((symbol.direction, symbol.label) for symbol in machine.symbols)
        self._received = frozenset(s.label for s in machine.symbols if s.direction == "?")
        self._ends = frozenset(s.label for s in machine.symbols if s.direction == "?" and not s.gated)
        self._watched = frozenset(stages.book.all_watchers)
        looked_at = {(s.direction, s.label) for s in machine.symbols if s.clauses or stages.sliced is not None}
        for rule in rules:
            guarded = {pattern.label for pattern in rule.patterns if pattern.guards or rule.each is not None}
            looked_at |= {pair for pair in rule.watched if pair[1] in guarded}
        self._is_sliced = stages.sliced is not None or bool(stages.sliced_rules)
        """Whether refusals tell which instance they are about, whatever it is that is refused."""
        self._looked_at = frozenset(looked_at)
        self._known: dict[tuple[Kind, str | None], Possible] = {}

    # -- asking about labels -------------------------------------------------------------------------------------------

    def names(self, direction: Direction, label: str) -> bool:
        """Whether the protocol names an event of that direction and label."""
        return (direction, label) in self._named

    def watches(self, direction: Direction, label: str) -> bool:
        """Whether a rule looks at an event of that direction and label."""
        return (direction, label) in self._watched

    def hears(self, label: str) -> bool:
        """Whether an end of a call that has this label reaches anybody."""
        named = self._ends if self.labeller.lines is None else self._received
        return label in named or ("?", label) in self._watched

    @property
    def spoken(self) -> frozenset[tuple[Direction, str]]:
        """Directions and labels of all events that the protocol or a rule speaks of."""
        return self._named | self._watched

    @property
    def reads_outputs(self) -> bool:
        """Whether a verdict can depend on what tools returned."""
        return self.labeller.reads_outputs or any(direction == "?" for direction, _ in self._looked_at)

    @property
    def reported(self) -> set[str]:
        """The events of the program that a line of the events is about."""
        origins = [line.origin for line in self.labeller.lines or ()]
        named = [origin for origin in origins if isinstance(origin, Named) and origin.kind == "event"]
        return {name for origin in named for name in origin.names}

    @property
    def hears_text(self) -> bool:
        """Whether something that is said can be an event."""
        said = [*self.possible("user", None), *self.possible("agent", None)]
        return any(projected.event is not None for _, projected in said)

    # -- projecting ----------------------------------------------------------------------------------------------------

    def event(self, happened: Happened, *, skim: bool = False) -> Projected:
        """What a happening is.

        With `skim`, what nothing in the contract looks at is left out of its event: payload, time, and who made it.
        """
        kind, name = happened.kind, happened.name
        known = self._known.get((kind, name))
        if known is None:
            known = self._keep(kind, name)
        if kind == "event" and happened.direction == "!":
            known = self._sent(name)
        projected = known[0][1]
        for test, found in known:
            if test is None or test(happened):
                projected = found
                break
        outcome, event, label, looks = projected
        if event is None:
            return projected
        payload = happened.payload if looks or not skim else NO_PAYLOAD
        by = happened.by or event.by if self.gated or not skim else None
        at = happened.at if self.is_timed or not skim else None
        made = Event(event.direction, event.label, None, payload, by, at, event.to_rules)
        return Projected(outcome, made, label, looks)

    def possible(self, kind: Kind, name: str | None) -> Possible:
        """What happenings of a kind and name can be: events without payload, time, and who made them but the user."""
        candidates = self.labeller.candidates(kind, name)
        found: Possible = []
        for test, label in candidates:
            placed = self._placed(kind, label)
            if kind in ENDS and (placed.event is None or placed.event.to_rules) and label.label is not None:
                # What was recorded as an event is one, whatever the contract speaks of.
                found.append((_both(test, _is_labelled), self._strict(label)))
            found.append((test, placed))
        if not candidates or candidates[-1][0] is not None:
            found.append((None, self._unlabelled(kind, name)))
        return found

    def ends(self, name: str, failure: Failure) -> list[Event]:
        """What an end of a call of a tool can be, of that which reaches anybody; payloads left aside.

        A failure is an end only if it means that the call has happened.
        """
        found: dict[tuple[str, bool], Event] = {}
        kinds: tuple[Kind, ...] = ("result", "error") if failure == "done" else ("result",)
        for kind in kinds:
            for _, label in self.labeller.candidates(kind, name):
                event = self._placed(kind, label).event
                if event is not None:
                    found[event.label, event.to_rules] = event
        return list(found.values())

    def is_idle(self, kind: Kind, name: str | None) -> bool:
        """Whether nothing of a happening of this kind and name can matter; of a call, nor of its end."""
        possible = self.possible(kind, name)
        if any(projected.event is not None or projected.outcome == "unknown call" for _, projected in possible):
            return False
        return kind != "call" or not self.ends(name or "", "done")

    def why_unnamed(self, direction: Direction, name: str) -> str:
        """What to tell a program that reports an event which no clause names."""
        label = normalise(name)
        word = print_word(direction, label)
        if self.labeller.lines is not None and (direction, label) in self.spoken:
            line = f"{print_label(label)} when event {print_label(label)}"
            return f"the contract's events say nothing of the event `{label}`; a line that does is `{line}`"
        known = sorted({one for way, one in self.spoken if way == direction} | self.reported)
        meant = did_you_mean(label, known)
        other: Direction = "?" if direction == "!" else "!"
        if meant is None and (other, label) in self.spoken:
            return f"nothing in the contract speaks of `{word}`, only of `{print_word(other, label)}`"
        hint = f"; did you mean `{meant}`?" if meant else ""
        return f"nothing in the contract speaks of `{word}`{hint}"

    # -- how -----------------------------------------------------------------------------------------------------------

    def _keep(self, kind: Kind, name: str | None) -> Possible:
        found = self.possible(kind, name)
        if len(self._known) < _MOST_KNOWN:
            self._known[kind, name] = found
        return found

    def _placed(self, kind: Kind, label: Label) -> Projected:
        """What has a label, and whom it reaches."""
        if label.label is None:
            return Projected("ignored", None, label)
        pair = label.direction, label.label
        if kind == "event" and label.by_name and pair not in self._named and pair not in self._watched:
            strict = self._strict(label)
            return strict._replace(outcome="unnamed", event=strict.event if self.closed else None)
        if kind in {"call", "event"} or self._is_for_protocol(kind, label, pair):
            return self._strict(label)
        if pair not in self._watched:
            return Projected("unmatched", None, label)
        return self._strict(label, to_rules=self.has_protocol)

    def _is_for_protocol(self, kind: Kind, label: Label, pair: tuple[Direction, str]) -> bool:
        """Whether the protocol has a say in an end of a call, or in a text."""
        if pair[1] == UNRECOGNIZED:
            return True
        # Nobody takes the name of a tool for that of an approval; who writes a line that says so is told.
        return pair in self._named if kind not in ENDS or not label.by_name else label.label in self._ends

    def _strict(self, label: Label, *, to_rules: bool = False) -> Projected:
        assert label.label is not None  # noqa: S101 - what is ignored comes to nobody
        event = Event(label.direction, label.label, by=label.by, to_rules=to_rules)
        looks = self._is_sliced or (label.direction, label.label) in self._looked_at
        return Projected("event", event, label, looks)

    def _unlabelled(self, kind: Kind, name: str | None) -> Projected:
        """What no line takes."""
        if kind == "call":
            return Projected("unknown call") if self.closed else _UNMATCHED
        return Projected("unnamed") if kind == "event" and name else _UNMATCHED

    def _sent(self, name: str | None) -> Possible:
        """What a program says that the agent does; the lines of the events are about what it receives."""
        return [(None, self._placed("event", Label("!", normalise(name or ""), by_name=True)))]


def _is_labelled(happened: Happened) -> bool:
    return happened.labelled


def _both(one: Test | None, other: Test) -> Test:
    return other if one is None else lambda happened: one(happened) and other(happened)
