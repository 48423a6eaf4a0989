"""What every surface must say of a run, written to be read: a projection, possible states, and calls that are out.

It knows the tree of a contract and what protocols and rules mean (`accord.semantics`), and nothing of how the product
works. A happening becomes an event (`Projection`). The protocol and each rule are *components*: each keeps a set of
states it can be in, because a call that is out may not have happened, may have happened, or may have ended in any way.
An event is legal if every state of every component takes it. Nothing is updated cleverly: what has happened is a list,
and the sets are worked out from it whenever somebody asks.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, combinations

from accord.canonical import encode
from accord.language.clauses import Guard, Value
from accord.language.events import Named
from accord.language.rules import AtMost, Before, Count, Pattern, Rule, Within
from accord.language.tree import Action, Deadline, Document
from accord.semantics.clocks import age
from accord.semantics.closing import is_complete
from accord.semantics.data import Boolean, Event, Null, Object, happening, look_up
from accord.semantics.events import fits
from accord.semantics.places import advance, choices, start
from accord.semantics.rules import deadlines, decide, in_context, owes, refuses
from accord.semantics.rules import patterns as patterns_of
from tests.surfaces.capabilities import failure_lines, is_open
from tests.surfaces.happenings import ENDS, Finding, Happening, Outcome, Run, call_of, in_order

__all__ = ["NOTHING", "Judge", "Label", "Projection", "judge"]

PROTOCOL = "protocol"
DIRECTIONS = {"call": "!", "agent": "!", "user": "?", "result": "?", "error": "?", "event": "?"}


# -- happenings become events ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """What a happening is called. Without a name it has no label; `ignored` if a line of the events says so."""

    direction: str
    name: str | None
    ignored: bool = False


NOTHING = Label("?", None)


def arguments_of(body: object) -> dict:
    """The payload of a call."""
    value = decoded(body)
    return value if isinstance(value, dict) else {"text": text_of(body)}


def decoded(body: object) -> object:
    """A text that is JSON of an object or a list is that; nobody could tell the two apart in a log."""
    if isinstance(body, str):
        try:
            value = json.loads(body)
        except ValueError:
            return body
        return value if isinstance(value, dict | list) else body
    return body


def text_of(body: object) -> str:
    """A value as text."""
    value = decoded(body)
    return value if isinstance(value, str) else encode(value).decode()


def end_of(one: Happening, call: Happening | None) -> dict:
    """The payload of the end of a call."""
    value = decoded(one.body)
    payload = dict(value) if isinstance(value, dict) else {"text": text_of(one.body)}
    payload.setdefault("error", None)
    if one.kind == "error":
        payload["error"] = one.body
    payload.pop("call", None)
    payload.pop("call_id", None)
    if call is not None:
        payload |= {"call": arguments_of(call.body), "call_id": call.id}
    return payload


class Projection:
    """From happenings to events, as a contract says, and to whom they go."""

    def __init__(self, document: Document) -> None:
        self.events = document.events
        self.declaration = document.declarations[0] if document.declarations else None
        self.has_protocol = self.declaration is not None
        self.named = set() if self.declaration is None else set(steps_of(self.declaration.body))
        self.is_closed = self.has_protocol and not is_open(self.declaration)
        self.watched = {
            (direction, pattern.label)
            for rule in document.rules
            for pattern in patterns_of(rule)
            for direction in ([pattern.direction] if pattern.direction else ["!", "?"])
        }

    def label(self, one: Happening, payload: dict) -> Label:
        """The first line that fits decides."""
        direction = DIRECTIONS[one.kind]
        name = unicodedata.normalize("NFC", one.name)
        has_name = one.kind in {"call", "result", "error", "event"}
        for line in self.events.lines if self.events is not None else ():
            if line.as_named:
                if has_name:
                    return Label(direction, name)
            elif fits(line, one.kind, name or None, payload):
                return Label(direction, line.label, ignored=line.label is None)
        return Label(direction, name if has_name and self.events is None else None)

    def ends(self, one: Happening, kinds: tuple[str, ...]) -> set[str]:
        """The labels that an end of this call can have, whatever it carries."""
        found: set[str | None] = set()
        for kind in kinds:
            for line in self.events.lines if self.events is not None else ():
                if line.as_named:
                    found.add(one.name)
                    break
                if line.origin is None or (
                    isinstance(line.origin, Named) and line.origin.kind == kind and one.name in line.origin.names
                ):
                    found.add(line.label)
                    if not line.guards:
                        break
            else:
                found |= {one.name} if self.events is None else set()
        return {label for label in found if label is not None and self.reaches("?", label)}

    def reaches(self, direction: str, label: str) -> bool:
        """Whether the protocol or a rule looks at it."""
        return (direction, label) in self.named | self.watched


def steps_of(node) -> set[tuple[str, str]]:
    """All (direction, label) of a protocol."""
    found, todo = set(), [node]
    while todo:
        here = todo.pop()
        todo += here.children()
        if isinstance(here, Action):
            found.add((here.direction, here.label))
    return found


# -- what a failure means ----------------------------------------------------------------------------------------------


def failure_of(document: Document, tool: str, label: str | None) -> str:
    """`undone`, `done` or `unknown`: as the contract says, or `unknown` if a limit counts it or people allow it."""
    said = failure_lines(document)
    for names, meaning in [*(line for line in said if line[0]), *(line for line in said if not line[0])]:
        if not names or tool in names:
            return meaning
    if label is None:
        return "undone"
    gates = {pattern.label for rule in document.rules for pattern in patterns_of(rule) if pattern.gated}
    gates |= {step.label for one in document.declarations for step in gated_steps(one.body)}
    for rule in document.rules:
        if isinstance(rule.body, AtMost) and rule.body.pattern.label == label:
            return "unknown"
        if any(count.bound == "at most" and count.pattern.label == label for count in counts_of(rule.body)):
            return "unknown"
        if isinstance(rule.body, Before) and rule.body.trigger.label == label:
            needed = [pattern for pattern in patterns_of(rule) if pattern is not rule.body.trigger]
            if any(pattern.gated or pattern.label in gates for pattern in needed):
                return "unknown"
    return "unknown" if any(approved(one.body, label) for one in document.declarations) else "undone"


def gated_steps(node) -> list[Action]:
    todo, found = [node], []
    while todo:
        here = todo.pop()
        todo += here.children()
        found += [here] if isinstance(here, Action) and here.gated else []
    return found


def counts_of(node) -> list[Count]:
    """All counts inside a rule."""
    if isinstance(node, Count):
        return [node]
    if isinstance(node, tuple):
        return [found for one in node for found in counts_of(one)]
    if is_dataclass(node) and not isinstance(node, Pattern):
        return [found for field in fields(node) for found in counts_of(getattr(node, field.name))]
    return []


def approved(protocol, label: str) -> bool:
    """Whether some way leads through a step of a person to this call, with nothing sent in between."""
    todo = [(place, False) for place, _ in start(protocol)]
    seen: set = set()
    while todo and len(seen) < 2_000:  # clocks would make more and more places of one loop
        place, by_person = todo.pop()
        if (place, by_person) in seen:
            continue
        seen.add((place, by_person))
        for _, action, after in choices(place):
            if action.direction == "!" and action.label == label and by_person:
                return True
            then = action.gated or (by_person and action.direction == "?")
            todo += [(there, then) for there in after]
        todo += [(there, by_person) for there, _ in age(frozenset({(place, frozenset())}), 1e9)]
    return False


# -- components --------------------------------------------------------------------------------------------------------


def key_of(event: Event, path) -> object:
    """The slice an event belongs to: of what is received, that of its call before anything it says itself."""
    ways = [("call", *path), path] if event.direction == "?" else [path]
    return next((key for way in ways if (key := look_up(event.payload, way)) is not None), None)


WHOLE = Null()


class ProtocolComponent:
    """The protocol; a state tells for each slice where it stands."""

    clause = PROTOCOL

    def __init__(self, declaration, began: float) -> None:
        self.body, self.each = declaration.body, declaration.each
        self.first = frozenset({frozenset([] if self.each else [(WHOLE, start(self.body, began))])})

    def key(self, event: Event):
        return WHOLE if self.each is None else key_of(event, self.each)

    def takes(self, item) -> bool:
        """Whether an event goes to the protocol."""
        return not item.to_rules

    def after(self, state, item):
        """The state after an event; `None` if it is refused."""
        event, here = item.event, dict(state)
        key = self.key(event)
        if key is None:
            return None
        there = advance(here.get(key) or start(self.body, event.at), event)
        return frozenset({**here, key: there}.items()) if there else None

    def ended(self, state, item, label: str) -> set:
        """Where any end of a call with this label may lead: guards hold or do not, and nothing is kept of it."""
        event, here = item.event, dict(state)
        key = self.key(event)
        if key is None or key not in here:
            return set()
        steps = [
            (possibility, point, action, after)
            for possibility in here[key]
            for point, action, after in choices(possibility[0], event.at)
            if (action.direction, action.label) == ("?", label) and not action.gated
        ]
        found = set()
        for holding in subsets([step for step in steps if step[2].clauses]):
            taken = [step for step in steps if not step[2].clauses or step in holding]
            if taken and len({(possibility, point) for possibility, point, _, _ in taken}) == len(taken):
                there = frozenset((place, possibility[1]) for possibility, _, _, after in taken for place in after)
                found.add(frozenset({**here, key: there}.items()))
        return found

    def aged(self, state, at: float):
        return frozenset((key, age(there, at)) for key, there in state)

    def missed(self, state, clock: float, at: float) -> list[float]:  # noqa: ARG002 - a deadline moves on, no more
        return []

    def may_stop(self, state, clock: float) -> bool:  # noqa: ARG002 - the same
        return all(is_complete(there) for _, there in state)


class RuleComponent:
    """A rule; a state is the history it has seen, each event told by which of the rule's patterns it fits.

    Said like that, an end of which nobody knows what it carries is one event for each way in which it may fit.
    """

    def __init__(self, rule: Rule) -> None:
        self.clause = rule.name
        self.each = rule.each
        self.rule = rule
        self.patterns = list(dict.fromkeys(patterns_of(rule)))
        self.plain = replace(rule, body=self._plainly(rule.body), each=("key",) if rule.each else None)
        self.first = frozenset({()})

    def _plainly(self, node):
        """The rule with `does it fit?` in place of guards and gates."""
        if isinstance(node, Pattern):
            fits = Guard((f"fits {self.patterns.index(node)}",), "==", Value(True))  # noqa: FBT003 - a literal
            return replace(node, guards=(fits,), gated=False)
        if isinstance(node, tuple):
            return tuple(self._plainly(one) for one in node)
        if is_dataclass(node):
            return replace(node, **{f.name: self._plainly(getattr(node, f.name)) for f in fields(node) if f.init})
        return node

    def takes(self, item) -> bool:  # noqa: ARG002 - rules see everything
        return True

    def told(self, event: Event, fitting: dict[int, bool | None]) -> Event:
        key = None if self.each is None else key_of(event, self.each)
        about = [(f"fits {number}", Boolean(yes)) for number, yes in fitting.items() if yes is not None]
        return replace(event, payload=Object(frozenset([*about, *([] if key is None else [("key", key)])])), by=None)

    def fitting(self, event: Event) -> dict[int, bool | None]:
        """Of each pattern, whether the guards and the gate say that this is the event it means."""
        found: dict[int, bool | None] = {}
        for number, pattern in enumerate(self.patterns):
            answers = [decide(guard, event) for guard in pattern.guards]
            no = False in answers or (pattern.gated and event.by is None)
            found[number] = False if no else None if None in answers else True
        return found

    def _add(self, state, event: Event):
        event = in_context(event, state)
        return None if refuses(self.plain, state, event) else (*state, event)

    def after(self, state, item):
        return self._add(state, self.told(item.event, self.fitting(item.event)))

    def ended(self, state, item, label: str) -> set:
        call = item.event
        if self.each is not None and key_of(call, self.each) is None:
            return set()
        open_ones = [
            number for number, pattern in enumerate(self.patterns) if pattern.guards and pattern.label == label
        ]
        found = set()
        for holding in subsets(open_ones):
            fitting = {
                number: number in holding if number in open_ones else not pattern.gated
                for number, pattern in enumerate(self.patterns)
            }
            end = replace(self.told(call, fitting), direction="?", label=label)
            after = self._add(state, end)
            found |= set() if after is None else {after}
        return found

    def aged(self, state, at: float):  # noqa: ARG002 - a history has its times in it
        return state

    def missed(self, state, clock: float, at: float) -> list[float]:
        return [due for due in deadlines(self.plain, state) if clock <= due < at]

    def may_stop(self, state, clock: float) -> bool:
        return not owes(self.plain, state, clock)


def _or_as_it_was(component, state, item):
    after = component.after(state, item)
    return state if after is None else after


def subsets(things: list):
    return chain.from_iterable(combinations(things, n) for n in range(len(things) + 1))


# -- what has happened -------------------------------------------------------------------------------------------------


@dataclass
class Firm:
    """An event that has happened for certain."""

    event: Event
    to_rules: bool = False


@dataclass
class Passed:
    """Time has passed until then."""

    at: float


@dataclass(eq=False)
class Call:
    """A call that was let through. `event` is `None` if the contract has no name for it."""

    place: int
    one: Happening
    event: Event | None
    to_rules: bool
    ends: set[str]
    failure: str
    state: str = "out"
    """`out`, `counted`, `undone` or `unknown`."""
    held_first: bool = False


class Judge:
    """Judges one run; asked happening by happening, in order."""

    def __init__(self, document: Document, began: float = 0.0) -> None:
        self.document = document
        self.projection = Projection(document)
        self.components = [RuleComponent(rule) for rule in document.rules]
        if self.projection.declaration is not None:
            self.components.insert(0, ProtocolComponent(self.projection.declaration, began))
        self.is_timed = uses_time(document)
        self.clock = began
        self.certain = [component.first for component in self.components]
        self.log: list[Firm | Passed | Call] = []
        self._known: dict[bool, tuple] = {}
        self.calls: dict[int, Call] = {}
        self.refused: set[int] = set()
        self.held: list[int] = []
        self.waiting: dict[int, int] = {}  # ends that came before their call was judged
        self.findings: list[Finding] = []
        self.waited = 0
        self.run: list[Happening] = []
        self.most_states = 0
        self.speaks_of_ends = True
        self.foresees = True
        self.is_torn = self.was_torn = False
        """Whether several refuse something, and not for certain: who is named is a matter of who is asked first."""

    # -- possible states -----------------------------------------------------------------------------------------------

    def states(self, *, foresees: bool = True) -> list[frozenset]:
        """For each component the states it may be in now.

        What the agent does has to be legal whatever comes back. What reaches it has happened, whatever others return
        later: for that, calls that are out have not ended.
        """
        while self.log and (not isinstance(self.log[0], Call) or self.log[0].state in {"counted", "undone"}):
            self.certain = self._follow(self.certain, self.log.pop(0), foresees=foresees)
        about = [self.foresees, *((item, getattr(item, "state", None)) for item in self.log)]
        known = self._known.get(foresees)
        if known is not None and known[0] is self.certain and known[1] == about:  # it is asked of every idea for a call
            return known[2]
        now = self.certain
        for item in self.log:
            now = self._follow(now, item, foresees=foresees)
        self.most_states = max(self.most_states, *map(len, now)) if now else 0
        self._known[foresees] = (self.certain, about, now)
        return now

    def _follow(self, now: list[frozenset], item, *, foresees: bool) -> list[frozenset]:
        return [
            frozenset(self._one(component, states, item, foresees=foresees))
            for component, states in zip(self.components, now, strict=True)
        ]

    def _one(self, component, states: frozenset, item, *, foresees: bool):
        """The states of a component after something.

        What the agent did was legal in all of them. What reached it need not be legal where something else is supposed
        to have ended before; there it changes nothing.
        """
        if isinstance(item, Passed):
            return {component.aged(state, item.at) for state in states}
        if isinstance(item, Firm):
            return {_or_as_it_was(component, state, item) for state in states} if component.takes(item) else states
        if item.state == "undone":
            return states
        is_seen = item.event is not None and component.takes(item)
        taken = {component.after(state, item) for state in states} if is_seen else set(states)
        if not self.foresees:
            taken.discard(None)  # it was let through by one who foresees
        if item.state == "counted":
            return taken
        ends = [label for label in item.ends if self._sees(component, label)] if self.foresees else []
        if item.state == "unknown":  # if it has happened, it has ended
            happened = {
                there
                for label in ends
                for state in taken
                for there in component.ended(state, self._as_seen(item), label) or {state}
            }
            return (happened or taken) | (set() if item.failure == "done" else set(states))
        ended = {
            there
            for label in (ends if foresees else ())
            for state in taken
            for there in component.ended(state, self._as_seen(item), label)
        }
        return taken | ended | (set() if item.failure == "done" else set(states))

    def _sees(self, component, label: str) -> bool:
        return component.clause is not PROTOCOL or ("?", label) in self.projection.named

    def _as_seen(self, item: Call):
        """The call, for its slice and its time, even where its own event goes to nobody."""
        if item.event is not None:
            return item
        return replace(item, event=self._event("!", item.one, item.one.name, arguments_of(item.one.body)))

    # -- judging -------------------------------------------------------------------------------------------------------

    def _event(self, direction: str, one: Happening, label: str, payload: dict) -> Event:
        by = one.by if one.kind == "event" else "user" if one.kind == "user" else None
        return happening(direction, label, None, payload, by, one.at if self.is_timed else 0)

    def refuses(self, item) -> str | None:
        """The first component that refuses an event in a state it may be in."""
        now = self.states(foresees=item.event.direction == "!")
        refusing = [
            component.clause
            for component, states in zip(self.components, now, strict=True)
            if component.takes(item) and any(component.after(state, item) is None for state in states)
        ]
        self.is_torn = len(refusing) > 1 and any(len(states) > 1 for states in now)
        return refusing[0] if refusing else None

    def _pass_time(self, at: float) -> str | None:
        """Time passes; the rule of which something is late by that."""
        if not self.is_timed:
            return None
        missed = sorted(
            (due, number)
            for number, (component, states) in enumerate(zip(self.components, self.states(foresees=False), strict=True))
            for state in states
            for due in component.missed(state, self.clock, at)
        )
        self.clock = at
        self.log.append(Passed(at))
        return self.components[missed[0][1]].clause if missed else None

    def _find(self, place: int, clause: str) -> None:
        self.was_torn = self.was_torn or self.is_torn
        self.findings.append(Finding(place, clause))

    def tell(self, one: Happening) -> None:
        """The next thing that happens."""
        place = len(self.run)
        self.run.append(one)
        self.is_torn = False
        if one.kind == "call":
            if any(self.run[held].message != one.message for held in self.held):
                self._give_up()
            self._call(place)
        elif one.kind in ENDS:
            self._end(place)
        else:
            self._other(place)

    def _call(self, place: int) -> None:
        if self.held:  # one of the same message, which stays in front of it
            self.held.append(place)
            return
        clause = self._try(place)
        if clause is None:
            return
        if self._out_of(self.run[place].message) and not self._is_unknown(place):
            self.held.append(place)
        else:
            self._refuse(place, clause)

    def _out_of(self, message: int) -> list[Call]:
        """The calls of a message that others of it may have to wait for: they, or their ends, have a label."""
        out = [call for call in self.calls.values() if call.state == "out" and call.one.message == message]
        return [call for call in out if call.ends or call.event is not None]

    def _is_unknown(self, place: int) -> bool:
        """Whether nothing speaks of a call, so that it is refused whatever others return."""
        one = self.run[place]
        label = self.projection.label(one, arguments_of(one.body))
        return label.name is None and not label.ignored and self.projection.is_closed

    def _refuse(self, place: int, clause: str) -> None:
        self.refused.add(place)
        self._find(place, clause)

    def _try(self, place: int) -> str | None:
        """Let a call through if it is legal; else who refuses it."""
        one, projection = self.run[place], self.projection
        payload = arguments_of(one.body)
        label = projection.label(one, payload)
        failure = failure_of(self.document, one.name, label.name)
        ends = projection.ends(one, ("result", "error") if failure == "done" else ("result",))
        call = Call(place, one, None, to_rules=False, ends=ends, failure=failure)
        if label.name is None:
            if projection.is_closed and not label.ignored:
                return PROTOCOL
        elif ("!", label.name) not in projection.named and projection.is_closed:
            return PROTOCOL
        else:
            late = self._pass_time(one.at)
            call.event = self._event("!", one, label.name, payload)
            call.to_rules = ("!", label.name) not in projection.named
            clause = late or self.refuses(call)
            if clause is not None:
                return clause
        if not self.speaks_of_ends:
            call.state = "counted"
        self.calls[place] = call
        self.log.append(call)
        return None

    def _give_up(self) -> None:
        """A later message begins: what is still held is judged for the last time."""
        while self.held:
            self._judge_again(last=True)

    def _judge_again(self, *, last: bool = False) -> None:
        """What is held, in order, as far as it can be judged now; then the ends that came too early."""
        admitted = []
        while self.held:
            place = self.held[0]
            clause = self._try(place)
            if clause is not None and self._out_of(self.run[place].message) and not last:
                break
            self.held.pop(0)
            if clause is None:
                self.waited += 1
                self.calls[place].held_first = True
                admitted.append(place)
            else:
                self._refuse(place, clause)
        early = sorted((end, place) for place, end in self.waiting.items() if place in admitted)
        for end, place in early:
            del self.waiting[place]
            self._ends(end, self.calls[place])

    def _end(self, place: int) -> None:
        made = call_of(tuple(self.run), place)
        if made is None:
            self._other(place)
        elif made in self.held:
            self.waiting[made] = place
        elif made not in self.refused and self.calls[made].state == "out":
            self._ends(place, self.calls[made])

    def _ends(self, place: int, call: Call) -> None:
        one = self.run[place]
        if one.kind == "error" and call.failure != "done":
            call.state = call.failure
        else:
            call.state = "counted"
            self._happens(place, end_of(one, call.one))
        if self.held and self.run[self.held[0]].message == call.one.message:
            self._judge_again()

    def _other(self, place: int) -> None:
        one = self.run[place]
        payload = end_of(one, None) if one.kind in ENDS else {"text": one.body} if one.kind != "event" else one.body
        self._happens(place, payload)

    def _happens(self, place: int, payload: dict) -> None:
        """What is no call: it is judged, and whatever the answer is, nothing waits for it."""
        one, projection = self.run[place], self.projection
        label = projection.label(one, payload)
        if label.name is None:
            return
        is_named = (label.direction, label.name) in projection.named
        if one.kind == "event" and not is_named and projection.is_closed:
            self._find(place, PROTOCOL)
            return
        if not projection.reaches(label.direction, label.name):
            return
        late = self._pass_time(one.at)
        item = Firm(self._event(label.direction, one, label.name, payload), to_rules=not is_named)
        clause = late or self.refuses(item)
        if clause is None:
            self.log.append(item)
        else:
            self._find(place, clause)

    def close(self) -> Outcome:
        """Nothing more happens: what is held is refused, and a call without an end may or may not have happened."""
        self._give_up()
        for call in self.calls.values():
            call.state = "unknown" if call.state == "out" else call.state
        owing = [
            component.clause
            for component, states in zip(self.components, self.states(), strict=True)
            if not all(component.may_stop(state, self.clock) for state in states)
        ]
        return Outcome(in_order(self.findings), not owing, self.waited)


def uses_time(document: Document) -> bool:
    """Whether anything in it has a deadline."""
    todo = [declaration.body for declaration in document.declarations]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return True
        todo += node.children()
    return any(isinstance(rule.body, Within) for rule in document.rules)


def judge(document: Document, run: Run) -> Outcome:
    """What must be said of a run. One in which no call has an end does not speak of ends: its calls count at once."""
    here = Judge(document, run[0].at if run else 0.0)
    here.speaks_of_ends = any(one.kind in ENDS for one in run)
    for one in run:
        here.tell(one)
    return here.close()
