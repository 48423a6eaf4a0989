"""A session of several roles at rest: the states of all roles, what is under way, and where the rules are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from accord.errors import UsageError
from accord.monitor import snapshot as of_monitors
from accord.session.crew import Crew, crew_of
from accord.session.history import rules_of
from accord.session.judging import Apart, joint_of, phase_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.canonical import Json
    from accord.machine.contract import Contract
    from accord.monitor.step import Mode
    from accord.session.crew import Channels
    from accord.session.judging import Place

__all__ = ["read", "write"]

FORMAT = "accord.session"
VERSION = 1


class _Record(of_monitors.Header):
    protocol: str
    mode: Literal["halt", "refuse"]
    phase: Literal["running", "violated", "complete", "incomplete"]
    states: list[int]
    under_way: list[tuple[str, str, list[str]]]
    played: bool
    events: Annotated[int, msgspec.Meta(ge=0)]
    rules: msgspec.Raw = msgspec.Raw(b"null")


# Made once, while the module is imported: making it is not safe when several threads do it at the same time.
_RECORDS = msgspec.json.Decoder(_Record)


def write(
    place: Place, contract: Contract, protocol: str, mode: Mode, events: int, key: bytes | None
) -> dict[str, Json]:
    """The snapshot of a session."""
    joint = joint_of(place)
    body: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "contract": contract.digest,
        "protocol": protocol,
        "mode": mode,
        "phase": phase_of(place),
        "states": list(joint.states),
        "under_way": [[*ends, list(labels)] for ends, labels in joint.channels],
        "played": joint.played,
        "events": events,
    }
    rules = rules_of(contract)
    if rules is not None and isinstance(place, Apart) and place.situation is not None:
        body["rules"] = of_monitors.describe(place.situation, rules, None, "refuse", events)
    return of_monitors.sealed(body, key)


def read(
    snapshot: Mapping[str, object] | str | bytes, contract: Contract, key: bytes | None
) -> tuple[Place, str, Mode, int]:
    """Place, protocol, mode and number of events of a snapshot; `UsageError` if anything about it is wrong."""
    record = of_monitors.decode(of_monitors.unsealed(snapshot, key), _RECORDS, FORMAT, VERSION, contract)
    crew = crew_of(contract, record.protocol)
    joint = crew.at(_states(record, crew), _channels(record, crew), played=record.played)
    rules = rules_of(contract)
    if (rules is None) != (bytes(record.rules) == b"null"):
        raise UsageError("the snapshot is damaged: it has other rules than the contract")
    place: Place = joint
    if rules is not None:
        situation, _, _, _ = of_monitors.read_described(bytes(record.rules), rules)
        place = Apart(joint, situation, record.phase)
    elif record.phase != "running":
        place = Apart(joint, None, record.phase)
    return place, record.protocol, record.mode, record.events


def _states(record: _Record, crew: Crew) -> tuple[int, ...]:
    fits = len(record.states) == len(crew.roles) and all(
        0 <= state < len(steps) for state, steps in zip(record.states, crew.steps, strict=True)
    )
    if not fits:
        raise UsageError("the snapshot is damaged: its roles are in no states of this protocol")
    return tuple(record.states)


def _channels(record: _Record, crew: Crew) -> Channels:
    messages = set(crew.choreography.machine.messages)
    channels = tuple(((sender, receiver), tuple(labels)) for sender, receiver, labels in record.under_way)
    known = all(labels and all((*ends, label) in messages for label in labels) for ends, labels in channels)
    if not known or tuple(sorted(dict(channels).items())) != channels:
        raise UsageError("the snapshot is damaged: what is under way is not what this protocol sends")
    return channels
