"""A session walked through: the events so far, and what may be tried next.

A walk is a value. The page sends all events and gets all verdicts, so undoing is sending one event less, and what is
shown can never differ from what the events give. `next` is what somebody has just done: an action that was chosen, with
the answers to what it asks, or an event that was typed.
"""

from __future__ import annotations

import io
import json
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, visible
from accord.errors import UsageError
from accord.machine.tables import Symbol
from accord.monitor.events import make_event, make_time
from accord.monitor.step import begin
from accord.stepping.events import events_in_stream
from accord.stepping.happenings import Close, Tick, happen
from accord.stepping.moments import now_of
from accord.stepping.moves import actions, occupied
from accord.stepping.questions import Asking, questions_about, time_question
from accord.stepping.wording import event_text, time_text, verdict_object
from accord.studio.requests import RefusedError
from accord.studio.situations import others, situation_object

if TYPE_CHECKING:
    from accord.machine.contract import Contract
    from accord.monitor.step import Mode, Situation
    from accord.monitor.verdicts import Verdict
    from accord.stepping.happenings import Happening
    from accord.studio.bounds import Bounds
    from accord.studio.requests import Next, Walk

__all__ = ["Memory", "event_line", "read_events", "walk"]

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


def event_line(event: Happening) -> str:
    """An event as a JSON line of `accord replay`.

    It is text also for the page, which sends it back as it is: a browser would change numbers beyond 2⁵³.
    """
    return json.dumps(_event_object(event))


def _event_object(event: Happening) -> dict[str, object]:
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
        "now": situation_object(
            contract,
            situation,
            [turn.event for turn in turns if turn.verdict is not None],
            None if request.everything else bounds.shown_states,
        ),
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
        found = [symbol for symbol in (*actions(situation), *others(situation)) if symbol.word == chosen.move]
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
