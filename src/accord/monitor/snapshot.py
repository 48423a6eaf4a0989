"""A session at rest: small, checked, and bound to its contract.

A snapshot names the contract by its digest, so it is never restored into another one, and carries a checksum over
everything else, so it is never restored damaged. With a key the checksum is an HMAC and finds forgery too; a snapshot
written with a key is only read with it, and one written without is never accepted where a key is given.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from accord.canonical import encode
from accord.errors import UsageError
from accord.machine.extent import Extent
from accord.monitor.extents import extent_from_json, extent_to_json, rule_from_json, rule_to_json
from accord.monitor.holdings import (
    configuration_from_json,
    configuration_to_json,
    holding_from_json,
    holding_to_json,
)
from accord.monitor.plausible import check_extent
from accord.monitor.step import Aside, Mode, Phase, Situation, place_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.canonical import Json
    from accord.machine.configurations import Configuration
    from accord.machine.contract import Contract
    from accord.machine.rulebook import RuleNodes
    from accord.machine.standing import Standings
    from accord.machine.taking import Holding
    from accord.monitor.step import Place

__all__ = [
    "FORMAT",
    "VERSION",
    "Header",
    "check_key",
    "decode",
    "describe",
    "read",
    "read_described",
    "sealed",
    "unsealed",
    "write",
]

FORMAT = "accord.snapshot"
VERSION = 1


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """What every snapshot begins with: its own kind and version, and the digest of the contract it was taken under."""

    format: str
    version: int
    contract: str


class _Record(Header):
    protocol: str | None
    mode: Mode
    phase: Phase
    configurations: list[list[object]]
    events: Annotated[int, msgspec.Meta(ge=0)]
    holding: object = None
    extent: object = None
    rules: list[list[object]] = []


R = TypeVar("R", bound=Header)

# Made once, while the module is imported: making it is not safe when several threads do it at the same time.
_RECORDS = msgspec.json.Decoder(_Record)


def _seal(data: bytes, key: bytes | None) -> str:
    if key is None:
        return "sha256:" + hashlib.sha256(data).hexdigest()
    return "hmac-sha256:" + hmac.new(key, data, hashlib.sha256).hexdigest()


def write(
    situation: Situation, contract: Contract, protocol: str | None, mode: Mode, events: int, key: bytes | None
) -> dict[str, Json]:
    """The snapshot of a session."""
    return sealed(describe(situation, contract, protocol, mode, events), key)


def sealed(body: dict[str, Json], key: bytes | None) -> dict[str, Json]:
    """What a snapshot holds, with its checksum."""
    check_key(key)
    return {**body, "checksum": _seal(encode(body), key)}


def describe(
    situation: Situation, contract: Contract, protocol: str | None, mode: Mode, events: int
) -> dict[str, Json]:
    """What a snapshot holds, without a checksum: for whoever seals it in another way."""
    place, holding = situation
    body: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "contract": contract.digest,
        "protocol": protocol,
        "mode": mode,
        "phase": place.phase if isinstance(place, Aside) else "running",
        "configurations": [configuration_to_json(c) for c in situation.standing.configurations],
        "events": events,
    }
    if isinstance(holding, Extent):
        body["extent"] = extent_to_json(holding)
    elif holding:
        body["holding"] = holding_to_json(holding)
    if situation.rules:
        body["rules"] = [rule_to_json(node.state) for node in situation.rules]
    return body


def read(
    snapshot: Mapping[str, object] | str | bytes, contract: Contract, key: bytes | None
) -> tuple[Situation, str | None, Mode, int]:
    """Situation, protocol, mode and number of events of a snapshot; `UsageError` if anything about it is wrong."""
    return read_described(unsealed(snapshot, key), contract)


def unsealed(snapshot: Mapping[str, object] | str | bytes, key: bytes | None) -> bytes:
    """What a snapshot holds, as JSON, if its checksum is right."""
    check_key(key)
    body = _decode(snapshot)
    checksum = body.pop("checksum", None)
    return _check_seal(body, checksum, key)


def read_described(data: bytes, contract: Contract) -> tuple[Situation, str | None, Mode, int]:
    """Situation, protocol, mode and number of events of what `describe` gave, as JSON."""
    record = decode(data, _RECORDS, FORMAT, VERSION, contract)
    stages = contract.stages(record.protocol)
    standings = stages.standings
    standing = standings.at(_configurations(record.configurations, standings))
    holding: Holding | Extent
    stage = stages.at(standing, _rules(record.rules, contract))
    if (record.holding if stages.is_wide else record.extent) is not None:
        raise UsageError("the snapshot is damaged: it does not hold what sessions of this contract hold")
    if stages.is_wide:
        holding = extent_from_json(record.extent, stages, standing)
        check_extent(stage, holding, record.phase)
    else:
        holding = holding_from_json(record.holding, standing)
    place: Place
    if record.phase in {"running", "puzzled"}:
        place = place_at(stage, holding, puzzled=record.phase == "puzzled")
    else:
        place = Aside(stage, record.phase)
    return Situation(place, holding), record.protocol, record.mode, record.events


def decode(data: bytes, records: msgspec.json.Decoder[R], form: str, version: int, contract: Contract) -> R:
    """The record of a snapshot; `UsageError` if it is of another kind or version, or of another contract."""
    try:
        record = records.decode(data)
    except msgspec.MsgspecError as error:
        raise UsageError(f"this is no snapshot of this version: {error}") from None
    if record.format != form or record.version != version:
        raise UsageError(f"expected {form} version {version}, found {record.format} version {record.version}")
    if record.contract != contract.digest:
        raise UsageError(
            f"the snapshot belongs to another contract: it was taken under {record.contract[:19]}…, "
            f"this one is {contract.digest[:19]}…"
        )
    return record


def _rules(states: list[list[object]], contract: Contract) -> RuleNodes:
    machines = contract.rules.machines
    if len(states) != len(machines):
        raise UsageError("the snapshot is damaged: it has other rules than the contract")
    return tuple(rule_from_json(state, machine) for state, machine in zip(states, machines, strict=True))


def check_key(key: bytes | None) -> None:
    """Raise `UsageError` for what can be no key."""
    if key is not None and (not isinstance(key, bytes) or not key):
        raise UsageError("a key is a non-empty `bytes` value")


def _decode(snapshot: Mapping[str, object] | str | bytes) -> dict[str, Json]:
    value: object = snapshot
    if isinstance(snapshot, str | bytes):
        try:
            value = msgspec.json.decode(snapshot)
        except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
            raise UsageError(f"the snapshot is damaged: {error}") from None
    try:
        return dict(value)  # type: ignore[call-overload, no-any-return] # checked by what follows
    except (TypeError, ValueError):
        raise UsageError(f"a snapshot is an object, got `{type(value).__name__}`") from None


def _check_seal(body: dict[str, Json], checksum: object, key: bytes | None) -> bytes:
    """The canonical bytes of a snapshot whose checksum is right."""
    if not isinstance(checksum, str):
        raise UsageError("the snapshot is damaged: it has no checksum")
    if key is None and checksum.startswith("hmac-sha256:"):
        raise UsageError("the snapshot was written with a key; pass the same `key=` to read it")
    if key is not None and not checksum.startswith("hmac-sha256:"):
        raise UsageError("the snapshot was written without a key, so it could be forged; it is not accepted")
    try:
        data = encode(body)
    except (TypeError, ValueError, RecursionError, AttributeError):
        raise UsageError("the snapshot is damaged: it holds values no snapshot has") from None
    if not hmac.compare_digest(checksum.encode("utf-8", "replace"), _seal(data, key).encode()):
        wrong_key = " (or the key is another one)" if key is not None else ""
        raise UsageError(f"the snapshot does not match its checksum: it was changed{wrong_key}")
    return data


def _configurations(values: list[list[object]], standings: Standings) -> frozenset[Configuration]:
    if not values or len(values) > standings.limits.configurations:
        raise UsageError("the snapshot is damaged: it says nowhere where the session stands")
    return frozenset(
        configuration_from_json(value, standings.machine, standings.limits.interleaving_depth) for value in values
    )
