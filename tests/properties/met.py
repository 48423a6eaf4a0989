"""What sessions met: where the messages stood that were taken and refused, how long they lived, what was open at once.

A construct that is made and never reached tests nothing either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import isnan

from accord.language.clauses import OPERATORS, Guard
from accord.language.tree import Action, Document, Protocol
from accord.semantics.data import Boolean, Datum, Event, List, Null, Number, Object, String, look_up
from accord.semantics.places import OVER, Beside, Place, State, Timed, bare, enabled, moves
from tests.census import Cell, Census
from tests.properties.made import CARRIED, DEADLINES, FORMS, LATE, MESSAGE_PLACES, block, carried_by, form_of
from tests.properties.places import NAMES, PLACES, walk

LIVES = ("nothing", "1 to 3", "4 to 15", "16 to 99", "100 and more")
AMOUNTS = ("0", "1", "2", "3", "4 and more")
REFUSED = ("refused by a clause", "refused by a gate")
ANSWERS = ("refused an event", "refused to close", "let it close")


def bracket(number: int, names: tuple[str, ...]) -> str:
    """The one of the names that covers a number: `3`, `4 to 15`, `100 and more`; `nothing` is 0."""
    firsts = [0 if name == "nothing" else int(name.split()[0]) for name in names]
    return [name for first, name in zip(firsts, names, strict=True) if number >= first][-1]


VALUES = ("nothing there", "null", "truth", "number", "NaN", "text", "list", "object")


# What is behind a block is rarely reached: where it is counted what was met, the blocks are not told apart.
BLOCKS = ("behind choice", "behind loop", "behind parts")
BEHIND = "behind a block"


def coarse(places: Iterable[str]) -> tuple[str, ...]:
    """The places, with those behind a block as one."""
    return tuple(dict.fromkeys(BEHIND if place in BLOCKS else place for place in places))


class Stands:
    """Where the steps of the contract stand that is looked at now."""

    def __init__(self) -> None:
        self.document: Document | None = None
        self.places: dict[int, list[str]] = {}

    def of(self, document: Document, step: Protocol) -> tuple[str, ...]:
        """The places of a step, known by its identity: two that look alike stand at different ones."""
        if document is not self.document:
            self.document, self.places = document, {}
            for declaration in document.declarations:
                for node, place in walk(declaration.body):
                    self.places.setdefault(id(node), []).append(place)
        return coarse(self.places[id(step)])


NAMED = ("named", "not named")


def unnamed(flavour: str) -> Census:
    """Events that the protocol names and others, where it is open and where it is not."""
    kinds = ("closed", "open") + ("closed and sliced", "open and sliced") * ("slices" in flavour)
    return Census(f"events and what the protocol names, {flavour}", kinds, NAMED)


def naming(document: Document, direction: str, label: str) -> Iterator[Cell]:
    """Whether an event is named, and by what kind of protocol."""
    for declaration in document.declarations:
        kind = "open" if declaration.is_open else "closed"
        kind += "" if declaration.each is None else " and sliced"
        steps = [node for node, _ in walk(declaration.body) if isinstance(node, Action)]
        named = any((step.direction, step.label) == (direction, label) for step in steps)
        yield kind, NAMED[not named]


class Met:
    """What sessions without time and slices met."""

    def __init__(self, flavour: str) -> None:
        self.lives = Census(f"accepted events, {flavour}", ("sessions",), LIVES)
        rules = "rules" in flavour  # with rules, what they answer is looked at; without, what the protocol does
        never = {("possibilities", "0"): "a session is somewhere"}
        self.messages = None if rules else self._messages(data=flavour == "data")
        self.open = None if rules else Census(f"open at once, {flavour}", ("possibilities", "words"), AMOUNTS, never)
        self.values = Census("values that guards met", VALUES, OPERATORS) if flavour == "data" else None
        self.rules = self._rules(flavour) if rules else None
        self.unnamed = unnamed(flavour)
        self._stands = Stands()

    @staticmethod
    def _messages(*, data: bool) -> Census:
        places = coarse(place for place in MESSAGE_PLACES if place not in LATE)
        rows = ("nothing", *CARRIED, *REFUSED) if data else ("nothing",)
        return Census(f"messages that came and what they carry, {'data' if data else 'plain'}", rows, places)

    @staticmethod
    def _rules(flavour: str) -> Census:
        forms = tuple(form for form in FORMS if form != "within")
        owing = [form for form in forms if form not in {"after", "after each"}]
        return Census(f"rules that answered, {flavour}", forms, ANSWERS, block(owing, [ANSWERS[1]], "it never owes"))

    def censuses(self) -> Iterator[Census]:
        """All tables."""
        tables = (self.messages, self.values, self.lives, self.open, self.rules, self.unnamed)
        yield from (census for census in tables if census is not None)

    def event(self, document: Document, state: State | None, event: Event, kind: str, clause: str) -> None:
        """An event was answered, by the protocol or a rule; the state is the one before it."""
        self.unnamed.add(naming(document, event.direction, event.label))
        if state is not None:
            if self.open is not None:
                amounts = {"possibilities": len(state), "words": len(moves(state))}
                self.open.add((what, bracket(amount, AMOUNTS)) for what, amount in amounts.items())
            if self.values is not None:
                self.values.add(_compared(state, event))
            if self.messages is not None and kind == "ok":
                self.messages.add(self._taken(document, state, event))
            elif self.messages is not None and clause == "protocol":
                self.messages.add(self._refused(document, state, event))
        if self.rules is not None and kind == "violation" and clause != "protocol":
            self.rules.add([(_form(document, clause), ANSWERS[0])])

    def _taken(self, document: Document, state: State, event: Event) -> Iterator[Cell]:
        for possibility in state:
            for _, action, _ in enabled(possibility, event):
                for place in self._stands.of(document, action):
                    yield from ((what, place) for what in (list(carried_by(action)) or ["nothing"]))

    def _refused(self, document: Document, state: State, event: Event) -> Iterator[Cell]:
        for action in _meant(state, event):
            gated = action.gated and event.by is None
            if gated or action.clauses:
                for place in self._stands.of(document, action):
                    yield REFUSED[gated], place

    def closed(self, document: Document, accepted: int, kind: str, clause: str) -> None:
        """A session was closed that had accepted so many events."""
        self.lives.add([("sessions", bracket(accepted, LIVES))])
        if self.rules is None:
            return
        if kind == "ok":
            self.rules.add((form_of(rule), ANSWERS[2]) for rule in document.rules)
        elif kind == "violation" and clause != "protocol":
            self.rules.add([(_form(document, clause), ANSWERS[1])])


def _meant(state: State, event: Event) -> Iterator[Action]:
    """The steps that the event could be by its label."""
    label = (event.direction, event.label)
    yield from (action for action in moves(state) if (action.direction, action.label) == label)


def _compared(state: State, event: Event) -> Iterator[Cell]:
    for action in _meant(state, event):
        for clause in action.clauses:
            if isinstance(clause, Guard):
                yield _kind_of_value(look_up(event.payload, clause.path)), clause.operator


def _kind_of_value(datum: Datum | None) -> str:
    match datum:
        case None:
            return "nothing there"
        case Number(size):
            return "NaN" if isinstance(size, float) and isnan(size) else "number"
        case _:
            return {Null: "null", Boolean: "truth", String: "text", List: "list", Object: "object"}[type(datum)]


def _form(document: Document, name: str) -> str:
    return next(form_of(rule) for rule in document.rules if rule.name == name)


KEYS = ("number", "text", "truth", "null", "list", "object", "NaN", "no key")
GIVEN = ("sent", "received", "in the call, received", "in the call, sent", "in both, received")
KEY_KINDS = {
    int: "number",
    float: "number",
    str: "text",
    bool: "truth",
    type(None): "null",
    list: "list",
    dict: "object",
}


class MetOverTime:
    """What sessions with deadlines, or with slices, met."""

    def __init__(self, flavour: str) -> None:
        time, slices = "time" in flavour, "slices" in flavour
        self.lives = Census(f"accepted events, {flavour}", ("sessions",), LIVES)
        self.open = Census(f"open at once, {flavour}", ("instances",) * slices + ("deadlines",) * time, AMOUNTS)
        places = coarse(place for place in PLACES if place != "branch head")
        self.deadlines = Census(f"deadlines that passed, {flavour}", DEADLINES, places) if time else None
        never = block(["no key"], GIVEN[2:], "then nothing is in the call")
        self.keys = Census(f"keys of events, {flavour}", KEYS, GIVEN, never) if slices else None
        self.unnamed = unnamed(flavour)
        self._stands = Stands()

    def censuses(self) -> Iterator[Census]:
        """All tables."""
        tables = (self.lives, self.open, self.deadlines, self.keys, self.unnamed)
        yield from (census for census in tables if census is not None)

    def waiting(self, document: Document, states: Collection[State], at: float) -> None:
        """Something is about to happen at this time."""
        running = [timed for state in states for place, _ in state for timed in _running(place)]
        amounts = {"instances": len(states), "deadlines": len(running)}
        self.open.add((what, bracket(amounts[what], AMOUNTS)) for what in self.open.constructs)
        for timed in running:
            if self.deadlines is not None and timed.due < at:
                name = f"deadline on {NAMES[type(timed.deadline.body)]}"
                self.deadlines.add((name, place) for place in self._stands.of(document, timed.deadline))

    def event(self, document: Document, direction: str, label: str, payload: dict) -> None:
        """An event is about to be told."""
        self.unnamed.add(naming(document, direction, label))
        if self.keys is None:
            return
        told = "sent" if direction == "!" else "received"
        if "k" in payload and "call" in payload:
            self.keys.add([(_kind_of_key(payload["call"]["k"]), "in both, received")])
        elif "k" in payload:
            self.keys.add([(_kind_of_key(payload["k"]), told)])
        elif "call" in payload:
            self.keys.add([(_kind_of_key(payload["call"]["k"]), f"in the call, {told}")])
        else:
            self.keys.add([("no key", told)])

    def closed(self, accepted: int) -> None:
        """A session was closed that had accepted so many events."""
        self.lives.add([("sessions", bracket(accepted, LIVES))])


def _kind_of_key(key: object) -> str:
    return "NaN" if "nan" in repr(key) else KEY_KINDS[type(key)]


def _running(place: Place) -> Iterator[Timed]:
    """The deadlines whose clocks run at a place."""
    if place == OVER:
        return
    match bare(place)[0]:
        case Timed() as timed:
            yield timed
        case Beside(parts=parts):
            for part in parts:
                yield from _running(part)
