"""Where a session is, as the page shows it: states, what may happen and what it asks, registers, instances, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, visible
from accord.machine.extent import Extent
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol
from accord.monitor.owing import owing_rules
from accord.monitor.step import is_over, status
from accord.stepping.happenings import uses_time
from accord.stepping.holdings import registers_of
from accord.stepping.instances import course_of, instance_text, keys_of, latest_instance, shown_key
from accord.stepping.moments import clock_text, now_of
from accord.stepping.moves import actions, occupied
from accord.stepping.outcome import next_due, outcome_of
from accord.stepping.questions import questions_about, time_question
from accord.studio.graphs import graph_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.machine.contract import Contract
    from accord.machine.tables import Machine
    from accord.monitor.step import Situation
    from accord.stepping.happenings import Happening
    from accord.stepping.questions import Question

__all__ = ["others", "situation_object"]

_INSTANCES_SHOWN = 20
_RULE_INSTANCES_SHOWN = 3
_OTHERS_SHOWN = 60


def situation_object(
    contract: Contract, situation: Situation, events: list[Happening], most: int | None
) -> dict[str, object]:
    """All there is to show after those events; of the machine, `most` states at the most."""
    machine, states = _machine(situation), sorted(occupied(situation))
    over = is_over(situation.place)
    outcome = outcome_of(situation)
    latest = latest_instance(situation, events)
    registers = registers_of(situation, latest[1] if latest else None)
    return {
        "status": status(situation),
        "over": over,
        "states": states,
        "graph": None if machine is None else graph_of(machine, states, most),
        "allowed": [] if over else list(situation.allowed),
        "moves": _moves(situation, actions(situation)),
        "others": [] if over else _moves(situation, others(situation)),
        "anything": not over and situation.stage.stages.machine.is_open,
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


def _machine(situation: Situation) -> Machine | None:
    sliced = situation.stage.stages.sliced
    if sliced is not None:
        return sliced.standings.machine
    standing = situation.standing
    return None if isinstance(standing, OpenStanding) else standing.standings.machine


def others(situation: Situation) -> tuple[Symbol, ...]:
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
