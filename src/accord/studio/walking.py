"""A session walked through: the events so far, and what may be tried next.

A walk is a value. The page sends all events and gets all verdicts, so undoing is sending one event less, and what is
shown can never differ from what the events give. `next` is what somebody has just done: an action that was chosen, with
the answers to what it asks, or an event that was typed.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, visible
from accord.errors import UsageError
from accord.machine.extent import Extent
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol
from accord.monitor.events import make_event, make_time
from accord.monitor.owing import owing_rules
from accord.monitor.step import begin, is_over, status
from accord.stepping.events import events_in_stream
from accord.stepping.happenings import Close, Tick, happen, uses_time
from accord.stepping.holdings import registers_of
from accord.stepping.instances import course_of, instance_text, keys_of, latest_instance, shown_key
from accord.stepping.moments import clock_text, now_of
from accord.stepping.moves import actions, occupied
from accord.stepping.outcome import next_due, outcome_of
from accord.stepping.questions import Asking, questions_about, time_question
from accord.stepping.wording import event_text, time_text, verdict_object
from accord.studio.graphs import graph_of
from accord.studio.requests import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.machine.contract import Contract
    from accord.machine.tables import Machine
    from accord.monitor.step import Mode, Situation
    from accord.monitor.verdicts import Verdict
    from accord.stepping.happenings import Happening
    from accord.stepping.questions import Question
    from accord.studio.bounds import Bounds
    from accord.studio.requests import Next, Walk

__all__ = ["Memory", "event_line", "read_events", "walk"]

_INSTANCES_SHOWN = 20
_RULE_INSTANCES_SHOWN = 3
_OTHERS_SHOWN = 60
_REMEMBERED = 4
_MISUSE = "misuse"


@dataclass(frozen=True, slots=True)
class _Turn:
    event: Happening
    verdict: Verdict | None
    """Nothing if the event cannot be told to the session at all."""
    problem: str
    situation: Situation


def read_events(text: str, most: int) -> list[Happening]:
    """The events of a text, as words or as JSON lines; `UsageError` says which line cannot be read."""
    found: list[Happening] = []
    for told in events_in_stream(io.StringIO(text)):
        found.append(told.event)
        if len(found) > most:
            raise RefusedError(f"a walk has {most} events at the most")
    return found


def event_line(event: Happening) -> dict[str, object]:
    """An event as a JSON line of `accord replay`."""
    line: dict[str, object]
    if isinstance(event, Tick):
        return {"tick": event.at}
    if isinstance(event, Close):
        line = {"close": True}
    else:
        line = {"send" if event.direction == "!" else "receive": event.label}
        optional = {"to" if event.direction == "!" else "sender": event.partner, "by": event.by}
        line |= {name: value for name, value in optional.items() if value is not None}
        if event.payload:
            line["payload"] = dict(event.payload)
    return line if event.at is None else {**line, "at": event.at}


class Memory:
    """The walks that were asked about last, so that one more event costs one more event.

    Situations are values, so what is remembered is never wrong: a line is only taken from here if all before it are the
    same.
    """

    def __init__(self) -> None:
        self._walks: OrderedDict[tuple[object, ...], list[tuple[str, list[_Turn]]]] = OrderedDict()

    def recall(self, key: tuple[object, ...], lines: list[str]) -> list[tuple[str, list[_Turn]]]:
        """The turns of as many lines as are known."""
        known = self._walks.get(key, [])
        same = 0
        for (line, _), asked in zip(known, lines, strict=False):
            if line != asked:
                break
            same += 1
        return known[:same]

    def keep(self, key: tuple[object, ...], walked: list[tuple[str, list[_Turn]]]) -> None:
        """Remember a walk, and forget the oldest."""
        self._walks[key] = walked
        with suppress(KeyError):  # another request may have been quicker
            self._walks.move_to_end(key)
            while len(self._walks) > _REMEMBERED:
                self._walks.popitem(last=False)


def walk(contract: Contract, request: Walk, bounds: Bounds, memory: Memory) -> dict[str, object]:
    """Every verdict, and where the session is after the last event."""
    situation = begin(contract, request.protocol, make_time(request.at))
    until = monotonic() + bounds.seconds
    key = (request.text, request.protocol, request.mode, request.at)
    walked = memory.recall(key, request.events)
    turns = [turn for _, of_line in walked for turn in of_line]
    situation = turns[-1].situation if turns else situation
    position = sum(not isinstance(turn.event, Tick) for turn in turns)
    for line in request.events[len(walked) :]:
        of_line: list[_Turn] = []
        for event in read_events(line, bounds.events):
            of_line.append(_take(situation, event, request.mode, position))
            situation = of_line[-1].situation
            position += not isinstance(event, Tick)
        walked.append((line, of_line))
        turns += of_line
        if len(turns) > bounds.events:
            raise RefusedError(f"a walk has {bounds.events} events at the most")
        if monotonic() > until:
            raise RefusedError(f"the walk takes longer than {bounds.seconds:g} seconds; try fewer events")
    memory.keep(key, walked)
    problem = ""
    if request.next is not None:
        try:
            turns.append(_take(situation, _meant(situation, request.next), request.mode, position))
            situation = turns[-1].situation
        except (ValueError, UsageError) as error:
            problem = visible(str(error))
    return {
        "problem": problem,
        "turns": _turns(turns, bounds.shown_turns),
        "events": [event_line(turn.event) for turn in turns],
        "now": _now(contract, situation, [turn.event for turn in turns], request, bounds),
    }


def _take(situation: Situation, event: Happening, mode: Mode, position: int) -> _Turn:
    try:
        after, verdict = happen(situation, event, mode, position)
    except UsageError as error:
        return _Turn(event, None, visible(str(error)), situation)
    return _Turn(event, verdict, "", after)


def _meant(situation: Situation, chosen: Next) -> Happening:
    """What somebody has done. Raises `ValueError` or `UsageError` if that cannot be told."""
    if chosen.text is not None:
        events = read_events(chosen.text, 2)
        if len(events) != 1:
            raise UsageError(f"one event at a time, got {len(events)}; a whole trace is pasted into the replay")
        return events[0]
    subject: Symbol | Happening
    if chosen.move in {"end", "tick"}:
        subject = Close() if chosen.move == "end" else Tick()
        questions = time_question(situation)
        if not questions:
            return subject
    else:
        found = [symbol for symbol in (*actions(situation), *_others(situation)) if symbol.word == chosen.move]
        if not found:
            raise UsageError(f"`{clip(chosen.move or '')}` is nothing that the contract names")
        subject = found[0]
        questions = questions_about(situation, subject)
    asking: Asking | Happening = Asking(subject, (*questions,), now_of(situation))
    if len(chosen.answers) != len(questions):
        raise UsageError(f"it asks for {len(questions)} answers and got {len(chosen.answers)}")
    if isinstance(subject, Symbol) and not questions:
        return make_event(subject.direction, subject.label, None, subject.partner)
    for answer in chosen.answers:
        assert isinstance(asking, Asking)  # noqa: S101 - as many answers as questions
        asking = asking.answer(answer.strip())
    assert not isinstance(asking, Asking)  # noqa: S101 - the same
    return asking


# -- what is shown -----------------------------------------------------------------------------------------------------


def _turns(turns: list[_Turn], most: int) -> list[dict[str, object]]:
    """Each event and its verdict, with the states it led to; of a long walk, the last ones."""
    position = sum(not isinstance(turn.event, Tick) for turn in turns[:-most])
    told: list[dict[str, object]] = []
    for turn in turns[-most:]:
        about: dict[str, object] = {"event": turn.event.word, "verdict": _MISUSE, "explanation": turn.problem}
        if turn.verdict is not None:
            about = {"explanation": "", **verdict_object(position, turn.event, turn.verdict)}
            if about["verdict"] == "blocked":
                about["explanation"] = f"Nothing more is accepted: {about['reason']}."
        about["position"] = position
        about["text"] = f"{time_text(turn.event)} {event_text(turn.event)}".strip()
        about["explanation"] = visible(str(about["explanation"]))
        about["states"] = sorted(occupied(turn.situation))
        told.append(about)
        position += not isinstance(turn.event, Tick)
    return told


def _machine(situation: Situation) -> Machine | None:
    sliced = situation.stage.stages.sliced
    if sliced is not None:
        return sliced.standings.machine
    standing = situation.standing
    return None if isinstance(standing, OpenStanding) else standing.standings.machine


def _now(
    contract: Contract, situation: Situation, events: list[Happening], request: Walk, bounds: Bounds
) -> dict[str, object]:
    machine, states = _machine(situation), sorted(occupied(situation))
    over = is_over(situation.place)
    outcome = outcome_of(situation)
    most = None if request.everything else bounds.shown_states
    latest = latest_instance(situation, events)
    registers = registers_of(situation, latest[1] if latest else None)
    return {
        "status": status(situation),
        "over": over,
        "states": states,
        "graph": None if machine is None else graph_of(machine, states, most),
        "allowed": [] if over else list(situation.allowed),
        "moves": _moves(situation, actions(situation)),
        "others": [] if over else _moves(situation, _others(situation)),
        "anything": not over and isinstance(situation.standing, OpenStanding),
        "sliced": situation.stage.stages.sliced is not None,
        "may_end": not over and status(situation) == "complete",
        "timed": uses_time(situation),
        "asks_time": [] if over else _questions(time_question(situation)),
        "clock": clock_text(situation),
        "next_due": None if over else next_due(situation),
        "outcome": visible(outcome.text().removeprefix("; ")),
        "registers": [{"name": visible(name), "value": value} for name, value in registers.items()],
        "registers_of": latest[0] if latest else None,
        "instances": _instances(situation, events),
        "rules": _rules(contract, situation, events),
    }


def _others(situation: Situation) -> tuple[Symbol, ...]:
    """What the contract names and is not allowed now: what to try to see a refusal."""
    machine = _machine(situation)
    named = set() if machine is None else set(machine.symbols)
    if machine is None:
        patterns = [pattern for node in situation.rules for pattern in node.machine.patterns]
        named = {Symbol(pattern.direction or ("?" if pattern.gated else "!"), pattern.label) for pattern in patterns}
    allowed = actions(situation)
    # An event says no more than this: if it could be an action that is allowed, it is listed there.
    able = {(symbol.direction, symbol.label, partner) for symbol in allowed for partner in (symbol.partner, None)}
    open_to_all = {(symbol.direction, symbol.label) for symbol in allowed if symbol.partner is None}
    others = (
        symbol
        for symbol in named
        if (symbol.direction, symbol.label, symbol.partner) not in able
        and (symbol.direction, symbol.label) not in open_to_all
    )
    return tuple(sorted(others, key=lambda symbol: symbol.word)[:_OTHERS_SHOWN])


def _moves(situation: Situation, symbols: Iterable[Symbol]) -> list[dict[str, object]]:
    return [
        {
            "word": symbol.word,
            "text": clip(symbol.word, 80),
            "kind": "send" if symbol.direction == "!" else "gate" if symbol.gated else "receive",
            "questions": _questions(questions_about(situation, symbol)),
        }
        for symbol in symbols
    ]


def _questions(questions: Iterable[Question]) -> list[dict[str, object]]:
    asked: list[dict[str, object]] = []
    for question in questions:
        kind = "time" if question.asks_time else "person" if question.path is None else "field"
        name = {"time": "when", "person": "by whom"}.get(kind) or clip(".".join(question.path or ()), 60)
        asked.append({"kind": kind, "name": name, "hint": visible("; ".join(question.hints))})
    return asked


def _instances(situation: Situation, events: list[Happening]) -> list[dict[str, object]]:
    sliced = course_of(situation)
    if sliced is None:
        return []
    protocol, course = sliced
    keys = [key for key in keys_of(protocol.path, events) if key in course.instances]
    now = now_of(situation) or 0
    return [
        {"key": shown_key(protocol.path, key), "text": instance_text(course.instances[key], now)}
        for key in keys[:_INSTANCES_SHOWN]
    ]


def _rules(contract: Contract, situation: Situation, events: list[Happening]) -> list[dict[str, object]]:
    """Each rule, what it has seen, and whether something is owed to it."""
    held = situation.holding
    extent = held if isinstance(held, Extent) else None
    owing = {rule.machine for rule in owing_rules(situation.stage, extent)}
    book = contract.rules
    told: list[dict[str, object]] = []
    for node in situation.rules:
        machine = node.machine
        seen = [machine.describe(node.state)]
        if machine.each is not None and extent is not None:
            instances = extent.slices[book.sliced.index(book.machines.index(machine))].instances
            keys = [key for key in keys_of(machine.each, events) if key in instances][:_RULE_INSTANCES_SHOWN]
            seen = [f"{shown_key(machine.each, key)}: {machine.describe(instances[key].state)}" for key in keys]
        told.append(
            {
                "name": visible(machine.rule.name),
                "text": visible(machine.text),
                "seen": [visible(line) for line in seen] or ["nothing to remember so far"],
                "owed": machine in owing,
            }
        )
    return told
