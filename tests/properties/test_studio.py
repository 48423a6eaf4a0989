"""The studio against the reference: verdicts, what is lit, the shortest way, undoing, and who is to blame.

Everything is asked as the page asks it, in JSON. The session of the studio is used like a monitor, so that the
campaigns that hold monitors to the reference hold the studio to it too.
"""

from __future__ import annotations

import json
from collections import Counter
from copy import copy
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from accord import ContractError, Monitor, Session, UsageError, semantics
from accord.choreography import compiling
from accord.language.global_printer import print_exchange
from accord.language.labels import parse_word
from accord.language.printer import print_document
from accord.language.tree import Document
from accord.monitor import explain, explain_way
from accord.monitor.explain_way import tell_way
from accord.monitor.verdicts import Ok, Violation
from accord.semantics.data import happening
from accord.semantics.rules import in_context, looks_at, patterns
from accord.stepping import moves as moves_module
from accord.studio import crews, situations
from accord.studio.answering import reply
from accord.studio.answers import ANSWERS
from accord.studio.bounds import Bounds
from accord.studio.walking import Memory
from accord.studio.workshop import Workshop
from tests.census import Census
from tests.properties import differential_time
from tests.properties.differential import random_contract, random_telling
from tests.properties.generate_globals import LABELS, random_global
from tests.properties.met import Met, bracket

LIT = ("0", "1", "2", "3 and more")
BOUNDS = Bounds(shown_turns=1)
STANDING = ("status", "over", "states", "allowed", "moves", "others", "may_end", "clock", "next_due", "rules")


class Asked:
    """A workshop that is asked in JSON."""

    def __init__(self) -> None:
        self.workshop = Workshop(BOUNDS, Path())  # no files are asked about

    def answer(self, name, **request):
        """Status and answer, whatever they are."""
        status, body = reply(ANSWERS, self.workshop, name, json.dumps(request).encode())
        return status, json.loads(body)

    def __call__(self, name, **request):
        status, answer = self.answer(name, **request)
        assert status == 200, answer
        return answer


@cache
def printed(document):
    return print_document(document)


class Walked:
    """A session of the studio, used like a monitor: each attempt sends all events so far, and one more."""

    ask = Asked()

    def __init__(self, document: Document, mode: str, at: float | None = None) -> None:
        self.session = {"text": printed(document), "mode": mode, "at": at}
        self.events: list[str] = []
        self.now = self.ask("walk", **self.session)["now"]

    def _tell(self, at, *, keep=True, **line):
        told = json.dumps(line if at is None else {**line, "at": at})
        answer = self.ask("walk", **self.session, events=[*self.events, told])
        (turn,) = answer["turns"]
        if turn["verdict"] == "misuse":
            assert [answer["now"][what] for what in STANDING] == [self.now[what] for what in STANDING]
            raise UsageError(turn["explanation"])
        if keep:
            self.events.append(told)
            assert [json.loads(event) for event in self.events] == [json.loads(event) for event in answer["events"]]
            self.now = answer["now"]
        clause = turn.get("clause", "")
        clause = clause[6:-1] if clause.startswith("rule ") else "protocol" if turn["verdict"] == "violation" else ""
        return semantics.Verdict(turn["verdict"], tuple(turn.get("expected", ())), clause)

    def send(self, label, payload=None, to=None, at=None, *, keep=True):
        return self._tell(at, keep=keep, send=label, **given(to=to, payload=payload or None))

    def receive(self, label, payload=None, sender=None, by=None, at=None, *, keep=True):
        return self._tell(at, keep=keep, receive=label, **given(sender=sender, by=by, payload=payload or None))

    def peek_send(self, *event, **more):
        return self.send(*event, **more, keep=False)

    def peek_receive(self, *event, **more):
        return self.receive(*event, **more, keep=False)

    def tick(self, at):
        return self._tell(None, tick=at)

    def close(self, at=None):
        return self._tell(at, close=True)

    def next_due(self):
        return self.now["next_due"]

    @property
    def status(self):
        return self.now["status"]

    def allowed(self):
        return self.now["allowed"]

    def lit(self):
        return [move["word"] for move in self.now["moves"]]


def given(**optional):
    return {name: value for name, value in optional.items() if value is not None}


# -- verdicts, what is lit, undoing ------------------------------------------------------------------------------------


def accepts(reference, action, payload=None, by=None):
    """Whether the reference would accept an event; `None` if it cannot be told so."""
    trial = copy(reference)
    try:
        if action.direction == "!":
            return trial.send(action.label, payload, to=action.partner).kind == "ok"
        return trial.receive(action.label, payload, sender=action.partner, by=by).kind == "ok"
    except ValueError:
        return None


def naming(reference, action):
    """The patterns of rules that mean such an event now, data left aside; no person decides what is sent."""
    event = in_context(happening(action.direction, action.label), reference._history)
    named = [pattern for rule in reference._rules for pattern in patterns(rule) if looks_at(pattern, event)]
    return [pattern for pattern in named if not pattern.gated or action.direction == "?"]


def is_lit(action, before, named):
    """Whether an event was lit before it happened; where anything may happen, what rules name is.

    A bare label is a name for both directions, and the one that is sent is enough.
    """
    lit = [parse_word(move["word"].partition("(")[0].removesuffix(" by human")) for move in before["moves"]]
    partners = [partner for direction, label, partner in lit if (direction, label) == (action.direction, action.label)]
    if partners and (action.partner is None or {None, action.partner} & {*partners}):
        return True
    sent = ("!", action.label, None) in lit
    return before["anything"] and all(sent and not pattern.direction and not pattern.gated for pattern in named)


def compared(document, rng, flavour, seen, met):
    """One random trace; the first difference in words."""
    mode = rng.choice(("halt", "refuse"))
    first = document.declarations[0] if document.declarations else None
    body = first.body if first else None
    reference = semantics.Session(body, mode, rules=document.rules, is_open=first is not None and first.is_open)
    state = semantics.start(body) if body is not None else None
    mine = Walked(document, mode)
    history = [mine.now]
    for _ in range(rng.randint(1, 10)):
        if reference.status == "violated":
            break
        if flavour == "plain":
            found = unlike(reference, mine, state, seen)
            if found:
                return f"{printed(document)} after {mine.events}: {found}"
        telling = random_telling(rng, state, flavour)
        named = naming(reference, telling.action)
        verdicts = []
        for session in (reference, mine):
            try:
                verdicts.append(telling.tell(session))
            except (ValueError, UsageError):
                verdicts.append(None)
        if verdicts[0] != verdicts[1]:
            return f"{printed(document)} after {mine.events}: {telling}: reference {verdicts[0]}, studio {verdicts[1]}"
        if (mine.status, mine.allowed()) != (reference.status, reference.allowed()):
            return f"{printed(document)} after {mine.events}: {mine.status} {mine.allowed()}"
        if verdicts[0] is None:
            continue
        seen[verdicts[0].kind] += 1
        accepted = verdicts[0].kind == "ok"
        if accepted and history[-1]["anything"] and not named:
            seen["named nowhere"] += 1  # it may happen, and nobody could have lit it
            met.passed.add([("events", "passed without being lit")])
        else:
            lit = bracket(len(history[-1]["moves"]), LIT)
            met.walks.add([("accepted" if accepted else "refused", lit)])
        if flavour == "plain":
            met.event(document, state, telling.event(), verdicts[0].kind, verdicts[0].clause)
        if accepted:
            seen["lit"] += 1
            if not is_lit(telling.action, history[-1], named):
                return f"{printed(document)} after {mine.events}: it was accepted and is not lit"
            if state is not None and reference._course.names(telling.event()):
                event = telling.action
                state = semantics.step(state, event.direction, event.label, event.partner, telling.payload, telling.by)
        history.append(mine.now)
    return undone(mine, history, seen)


def unlike(reference, mine, state, seen):
    """Of a contract without data: what is lit is accepted, what is not lit is refused."""
    legal = {semantics.word(action) for action in semantics.moves(state)}
    if set(mine.lit()) != (legal if not mine.now["over"] else set()):
        return f"lit {mine.lit()}, legal {sorted(legal)}"
    for action in semantics.moves(state):
        seen["lit and accepted"] += 1
        if accepts(reference, action) is False and not mine.now["over"]:
            return f"{semantics.word(action)} is lit and refused"
    for other in mine.now["others"]:
        answer = mine.ask("walk", **mine.session, events=mine.events, next={"move": other["word"], "answers": []})
        seen["not lit and refused"] += 1
        verdict = answer["turns"][-1]["verdict"]
        if answer["problem"] or verdict not in {"violation", "misuse", "unrecognized"}:
            return f"{other['word']} is not lit and {verdict or answer['problem']}"
    return None


def undone(mine, history, seen):
    """Going back event by event gives what there was, and so does a studio that has seen nothing of it."""
    for count in range(len(mine.events), -1, -1):
        seen["undone"] += 1
        back = mine.ask("walk", **mine.session, events=mine.events[:count])
        if back["now"] != history[count]:
            return f"undoing to {mine.events[:count]} gives something else"
        for line in ((), ("!b",), ("?c",)):  # and from there elsewhere, twice
            events = [*mine.events[:count], *line]
            if mine.ask("walk", **mine.session, events=events) != Asked()("walk", **mine.session, events=events):
                return f"a fresh walk of {events} gives something else"
    return None


class Walks(Met):
    """What walks met, and how much was lit then; data and rules are counted in `test_differential`."""

    def __init__(self, flavour: str) -> None:
        super().__init__(flavour)
        never = {("accepted", "0"): "what is accepted is lit"}
        self.walks = Census(f"moves that are lit, {flavour}", ("accepted", "refused"), LIT, never)
        self.passed = Census(f"what passes, {flavour}", ("events",), ("passed without being lit",))
        self.tables = [self.walks, self.passed, *([self.messages] if flavour == "plain" else [])]


def walked(seed, count, flavour):
    rng = Random(f"studio {flavour} {seed}")
    seen: Counter[str] = Counter()
    met = Walks(flavour)
    while seen["contracts"] < count or (seen["contracts"] < 4 * count and any(t.lacking(1) for t in met.tables)):
        seen["contracts"] += 1
        document, _ = random_contract(rng, flavour)
        found = compared(document, rng, flavour, seen, met)
        if found:
            return seen, met, found
    return seen, met, None


@pytest.mark.usefixtures("only_json")
@pytest.mark.parametrize("flavour", ["plain", "rules", "data", "data rules"])
def test_a_walk_agrees_with_the_reference(flavour, soak, health):
    count = 3_000 if soak else 80
    seen, met, difference = walked(1, count, flavour)
    assert difference is None
    for census in met.tables:
        census.check(1)
    assert seen["ok"] > count and seen["violation"] > count / 10
    assert "rules" not in flavour or seen["named nowhere"] > count / 10
    assert flavour != "plain" or (seen["lit and accepted"] > count and seen["not lit and refused"] > count)
    health(f"studio, {flavour}: {dict(sorted(seen.items()))}")
    health("\n".join(f"walks of the studio, {census.table()}" for census in met.tables))


@pytest.mark.usefixtures("only_json")
@pytest.mark.parametrize("flavour", ["time", "slices", "slices time"])
def test_a_walk_agrees_with_the_reference_over_time_and_keys(flavour, soak, health):
    seen, difference = differential_time.campaign(2, 4_000 if soak else 100, Walked, flavour)
    assert difference is None
    health(f"studio, {seen.sentence()}")


def remembers_by_length(monkeypatch):
    monkeypatch.setattr(Memory, "recall", lambda self, key, lines: self._walks.get(key, [])[: len(lines)])


def lights_everything(monkeypatch):
    def symbols(situation, real=moves_module.actions):
        standing = situation.standing
        return tuple(standing.standings.machine.symbols) if hasattr(standing, "standings") else real(situation)

    monkeypatch.setattr(situations, "actions", symbols)


def leaves_the_last_in_the_dark(monkeypatch):
    monkeypatch.setattr(situations, "actions", lambda situation, real=moves_module.actions: real(situation)[:-1])


@pytest.mark.parametrize(
    ("plant", "flavour"),
    [
        (remembers_by_length, "plain"),
        (lights_everything, "plain"),
        (leaves_the_last_in_the_dark, "data"),
        (leaves_the_last_in_the_dark, "data rules"),
    ],
)
def test_planted_bug_is_caught(plant, flavour, monkeypatch):
    plant(monkeypatch)
    monkeypatch.setattr(Walked, "ask", Asked())
    assert walked(3, 150, flavour)[-1] is not None


# -- the shortest way --------------------------------------------------------------------------------------------------


def shortest(reference, event, alphabet, most):
    """How few steps lead to where the event is accepted, found by trying everything; `None` if more than `most`."""
    layer = [reference]
    for count in range(1, most + 1):
        following = []
        for session in layer:
            for action in alphabet:
                if session._course is None and not naming(session, action):
                    continue  # it may happen, but nobody could have thought of it
                for by in (None, "ana") if action.direction == "?" else (None,):
                    trial = copy(session)
                    send = action.direction == "!"
                    verdict = trial.send(action.label) if send else trial.receive(action.label, by=by)
                    if verdict.kind == "ok":
                        if accepts(trial, event):
                            return count
                        following.append(trial)
        layer = following
    return None


def contracts_with_ways(rng, flavour):
    """Contracts of a flavour; `rules alone` are those without a protocol."""
    while True:
        document, _ = random_contract(rng, "rules" if flavour == "rules alone" else flavour)
        text = printed(document)
        if bool(document.declarations) == (flavour == "rules alone"):
            continue
        if "B" in text or "C" in text or "(" in text.partition("rule")[2]:
            continue  # a way leaves open what steps carry and whom they reach, so it could not be gone
        if flavour == "rules alone" and " then " in text:
            continue  # whatever comes in between is a way, and nobody is told to send just anything
        yield document


def ways(seed, count, flavour):
    """Refusals with the way that the studio tells; each is gone, and none is longer than it must be."""
    rng = Random(f"ways {flavour} {seed}")
    seen: Counter[str] = Counter()
    for document in islice(contracts_with_ways(rng, flavour), count):
        text = printed(document)
        first = document.declarations[0] if document.declarations else None
        body = first.body if first else None
        seen["contracts"] += 1
        reference = semantics.Session(body, "refuse", rules=document.rules, is_open=first is not None and first.is_open)
        mine = Walked(document, "refuse")
        alphabet = [semantics.places.Action(sign, label) for sign in "!?" for label in ("a", "b", "c", "Unrecognized")]
        named = [event for event in alphabet if semantics.word(event) in text]  # there is a way to these, if to any
        if body is None:  # a bare label is a name for both directions
            named = [event for event in alphabet if naming(reference, event)]
        for _ in range(12):
            event = rng.choice(named if named and rng.random() < 0.7 else alphabet)
            line = json.dumps({"send" if event.direction == "!" else "receive": event.label})
            (turn,) = mine.ask("walk", **mine.session, events=[*mine.events, line])["turns"]
            if turn["verdict"] == "violation":
                found = told_way(mine, reference, event, turn, alphabet, seen)
                if found:
                    return seen, f"{text} after {mine.events}: {semantics.word(event)}: {found}"
                continue
            if turn["verdict"] == "ok":
                mine.events.append(line)
                assert accepts(reference, event)
                reference = advanced(reference, event)
    return seen, None


def advanced(reference, event):
    trial = copy(reference)
    _ = trial.send(event.label) if event.direction == "!" else trial.receive(event.label)
    return trial


def refused_by_a_monitor(mine, event):
    """What a monitor says to the event, after everything that has happened in the studio."""
    monitor = Monitor(mine.session["text"], mode="refuse")
    for line in mine.events:
        told = json.loads(line)
        _ = monitor.send(told["send"]) if "send" in told else monitor.receive(told["receive"])
    return monitor.send(event.label) if event.direction == "!" else monitor.receive(event.label)


def told_way(mine, reference, event, turn, alphabet, seen):
    told = turn["explanation"]
    best = shortest(reference, event, alphabet, 3)
    verdict = refused_by_a_monitor(mine, event)
    if verdict.explain() != told:
        return f"a monitor says something else: {verdict.explain()}"
    refusal = verdict._facts
    way = explain.find_way(refusal)
    if not way:
        seen["no way"] += 1
        return None if best is None else f"a way of {best} is not told: {told}"
    if tell_way(refusal, way, refusal.vocabulary.name(event.direction, event.label)) not in told.replace(
        "First", "first"
    ):
        return f"the way {way} is not told: {told}"
    seen[f"{len(way)} steps"] += 1
    seen["either"] += sum(explain_way._is_either(refusal, step) for step in way)
    if best is not None and len(way) != best:
        return f"{len(way)} steps are told and {best} are enough: {told}"
    if best is None and len(way) <= 3:
        return f"the way that is told does not lead there: {told}"
    events = [*mine.events, *(step.word.replace(" by human", " by ana") for step in way)]
    (turn,) = mine.ask("walk", **mine.session, events=[*events, semantics.word(event)])["turns"]
    seen["gone"] += 1
    return None if turn["verdict"] == "ok" else f"after {way} it is refused: {turn['explanation']}"


# Of how many contracts there is a way that is gone, and one of two steps; rules alone hold off little.
@pytest.mark.parametrize(
    ("flavour", "gone", "far"), [("plain", 1 / 2, 1 / 10), ("rules", 1 / 2, 1 / 10), ("rules alone", 1 / 4, 1 / 50)]
)
def test_the_way_is_a_way_and_there_is_no_shorter_one(flavour, gone, far, soak, health):
    count = 1_500 if soak else 80
    seen, difference = ways(5, count, flavour)
    assert difference is None
    assert seen["gone"] > count * gone and seen["2 steps"] > count * far and seen["no way"] > count / 10
    assert flavour != "rules alone" or seen["either"] > count / 20
    health(f"studio, ways, {flavour}: {dict(sorted(seen.items()))}")


def takes_the_way_twice(monkeypatch):
    real = explain.find_way
    monkeypatch.setattr(explain, "find_way", lambda refusal: real(refusal) * 2)


def knows_no_way(monkeypatch):
    monkeypatch.setattr(explain, "find_way", lambda _: ())


@pytest.mark.parametrize("plant", [takes_the_way_twice, knows_no_way])
def test_planted_wrong_way_is_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert ways(7, 100, "plain")[1] is not None


# -- roles -------------------------------------------------------------------------------------------------------------


def talked(seed, count):
    """Conversations in the studio and in sessions; the first difference."""
    rng = Random(f"talk {seed}")
    ask, seen = Asked(), Counter()
    while seen["protocols"] < count:
        document = random_global(rng, parts=rng.random() < 0.5)
        try:
            contract = compiling.compile_contract(document)
        except ContractError:
            continue  # its roles, or those of what it does, cannot follow it
        seen["protocols"] += 1
        text, mode = print_document(document), rng.choice(("halt", "refuse"))
        session = Session(contract, protocol="P", mode=mode)
        messages: list[dict] = []
        told = ask("talk", text=text, protocol="P", mode=mode)["now"]
        for _ in range(8):
            if {move["word"] for move in told["moves"]} != set(session.allowed()):
                return seen, f"{text} after {messages}: lit {told['moves']}, allowed {session.allowed()}"
            sender, receiver = rng.sample(session.roles, 2)
            label = rng.choice(LABELS)
            if session.allowed() and rng.random() < 0.7:
                ends, label = rng.choice(session.allowed()).split(": ")
                sender, receiver = ends.split(" -> ")
            verdict = session.observe(sender, receiver, label)
            messages.append({"sender": sender, "receiver": receiver, "label": label})
            answer = ask("talk", text=text, protocol="P", mode=mode, messages=messages)
            turn, told = answer["turns"][-1], answer["now"]
            blamed = list(verdict.suspects) if isinstance(verdict, Violation) else []
            theirs = (verdict == Ok(), blamed, session.states, session.status)
            mine = (turn["verdict"] == "ok", turn["blamed"], turn["states"], told["status"])
            if mine != theirs:
                return seen, f"{text} after {messages}: studio {mine}, session {theirs}"
            found = wrongly_lit(told, session)
            if found:
                return seen, f"{text} after {messages}: {found}"
            seen["accepted" if verdict == Ok() else "blamed"] += 1
    return seen, None


def wrongly_lit(told, session):
    """Each role's own machine lights what the role sends or receives next."""
    allowed = set(session.allowed())
    for role in told["roles"]:
        for word in role["lit"]:
            at = max(word.find("!"), word.find("?"))
            partner, sign, label = word[:at], word[at], word[at + 1 :]
            ends = (role["role"], partner) if sign == "!" else (partner, role["role"])
            if print_exchange(*ends, label) not in allowed:
                return f"{word} is lit for {role['role']}"
    return None


def test_a_conversation_agrees_with_sessions(soak, health):
    count = 2_000 if soak else 60
    seen, difference = talked(9, count)
    assert difference is None
    assert seen["accepted"] > count and seen["blamed"] > count / 2
    health(f"studio, roles: {dict(seen)}")


def test_planted_wrong_blame_is_caught(monkeypatch):
    real = crews._take
    monkeypatch.setattr(crews, "_take", lambda session, said: {**real(session, said), "blamed": [said.receiver]})
    assert talked(9, 40)[1] is not None
