"""A conversation between roles walked through: who may say what now, what was said, and who is to blame.

As in `walking`, a walk is a value: all messages so far, and one that somebody has just chosen.
"""

from __future__ import annotations

from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from accord.choreography import compile_choreography
from accord.diagnostics.visible import clip, visible
from accord.errors import UsageError
from accord.language.global_printer import print_exchange
from accord.language.global_tree import Record
from accord.monitor.verdicts import Violation
from accord.session import Session
from accord.stepping.exchanges import exchanges_in
from accord.stepping.questions import read_value
from accord.stepping.wording import json_text, verdict_name
from accord.studio.graphs import graph_of
from accord.studio.numbers import check_numbers
from accord.studio.requests import RefusedError, Said

if TYPE_CHECKING:
    from accord.choreography import Choreography
    from accord.machine.contract import Contract
    from accord.monitor.verdicts import Verdict
    from accord.studio.bounds import Bounds
    from accord.studio.requests import Talk

__all__ = ["read_messages", "talk"]


def talk(contract: Contract, request: Talk, bounds: Bounds) -> dict[str, object]:
    """Every verdict, and where each role is after the last message."""
    if len(request.messages) > bounds.events:
        raise RefusedError(f"a walk has {bounds.events} events at the most")
    choreography = compile_choreography(contract, request.protocol)
    session = Session(contract, protocol=request.protocol, mode=request.mode)
    messages = list(request.messages)
    until = monotonic() + bounds.seconds
    turns = []
    for said in messages:
        turns.append(_take(session, said))
        if monotonic() > until:
            raise RefusedError(f"the walk takes longer than {bounds.seconds:g} seconds; try fewer messages")
    problem = ""
    if request.next is not None:
        try:
            said = _meant(contract, choreography, request.next.move or "", request.next.answers)
            turns.append(_take(session, said))
            messages.append(said)
        except (ValueError, UsageError) as error:
            problem = visible(str(error))
    return {
        "problem": problem,
        "turns": turns[-bounds.shown_turns :],
        "messages": [_line(said) for said in messages],
        "now": _now(contract, choreography, session, bounds),
    }


def read_messages(text: str, most: int) -> list[dict[str, object]]:
    """The messages of a text, as `talk` takes them."""
    said = [
        Said(one.sender, one.receiver, one.label, one.payload or {}) for one in islice(exchanges_in(text), most + 1)
    ]
    if len(said) > most:
        raise RefusedError(f"a walk has {most} events at the most")
    check_numbers([one.payload for one in said], "Session")
    return [_line(one) for one in said]


def _line(said: Said) -> dict[str, object]:
    return {"sender": said.sender, "receiver": said.receiver, "label": said.label, "payload": said.payload}


def _take(session: Session, said: Said) -> dict[str, object]:
    check_numbers(said.payload, "Session")
    verdict: Verdict | None = None
    problem = ""
    try:
        if said.label is None:
            verdict = session.close()
        else:
            verdict = session.observe(said.sender, said.receiver, said.label, said.payload or None)
    except UsageError as error:
        problem = visible(str(error))
    text = "the conversation is closed"
    if said.label is not None:
        carried = f" {json_text(said.payload)}" if said.payload else ""
        text = clip(print_exchange(said.sender, said.receiver, said.label), 80) + carried
    blamed = list(verdict.suspects) if isinstance(verdict, Violation) else []
    explained = problem if verdict is None else "" if verdict_name(verdict) == "ok" else verdict.explain()  # type: ignore[union-attr] # all but Ok explain themselves
    return {
        "text": text,
        "sender": said.sender,
        "receiver": said.receiver,
        "label": said.label,
        "verdict": "misuse" if verdict is None else verdict_name(verdict),
        "explanation": visible(explained),
        "blamed": blamed,
        "states": session.states,
    }


def _meant(contract: Contract, choreography: Choreography, word: str, answers: list[str]) -> Said:
    """The message that was chosen, with what it carries."""
    if word == "end":
        return Said()
    for sender, receiver, label in choreography.machine.messages:
        if print_exchange(sender, receiver, label) == word:
            fields = _fields(contract, label)
            if len(answers) != len(fields):
                raise UsageError(f"it asks for {len(fields)} answers and got {len(answers)}")
            payload: dict[str, object] = {}
            for (name, kind), answer in zip(fields, answers, strict=True):
                text = answer.strip()
                if text:  # what is left empty is left out
                    payload[name] = text if kind == "String" and not text.startswith('"') else read_value(text)
            return Said(sender, receiver, label, payload)
    raise UsageError(f"`{clip(word)}` is no message of the protocol")


def _fields(contract: Contract, label: str) -> list[tuple[str, str]]:
    """What a message carries, where its label names a record: each field and its type."""
    for item in contract.document.types:
        if isinstance(item, Record) and item.name == label:
            return [(field.name, str(field.type)) for field in item.fields]
    return [("value", label)] if any(item.name == label for item in contract.document.types) else []


def _now(contract: Contract, choreography: Choreography, session: Session, bounds: Bounds) -> dict[str, object]:
    allowed = session.allowed()
    over = session.status not in {"running", "complete"}
    every = sorted({print_exchange(*message): message[2] for message in choreography.machine.messages}.items())
    moves = [_move(contract, word, label) for word, label in every]
    states = session.states
    return {
        "status": session.status,
        "over": over,
        "may_end": session.status == "complete",
        "moves": [move for move in moves if move["word"] in allowed],
        "others": [] if over else [move for move in moves if move["word"] not in allowed],
        "roles": [
            {
                "role": role,
                "state": states[role],
                "graph": graph_of(choreography.machines[role], [states[role]], bounds.shown_states),
                "lit": _lit(choreography, role, allowed),
            }
            for role in choreography.roles
        ],
        "under_way": [
            {"sender": sender, "receiver": receiver, "labels": [visible(label) for label in labels]}
            for (sender, receiver), labels in session.under_way.items()
        ],
    }


def _lit(choreography: Choreography, role: str, allowed: list[str]) -> list[str]:
    """The words of a role's own machine that are allowed messages."""
    lit = []
    for symbol in choreography.machines[role].symbols:
        partner = symbol.partner or ""
        ends = (role, partner) if symbol.direction == "!" else (partner, role)
        if print_exchange(*ends, symbol.label) in allowed:
            lit.append(symbol.word)
    return lit


def _move(contract: Contract, word: str, label: str) -> dict[str, object]:
    questions = [{"kind": "field", "name": name, "hint": kind} for name, kind in _fields(contract, label)]
    return {"word": word, "text": clip(word, 80), "kind": "send", "questions": questions}
