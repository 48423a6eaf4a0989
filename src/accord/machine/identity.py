"""A machine's tables as plain values, and the digest over them that is its identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.canonical import digest
from accord.language.interchange import clause_to_json
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.machine.tables import Machine, Symbol

__all__ = ["FORMAT", "VERSION", "machine_digest", "tables_of"]

FORMAT = "accord.machine"
VERSION = 1


def tables_of(machine: Machine) -> dict[str, Json]:
    """Everything that makes a machine what it is; its name does not."""
    states: list[Json] = []
    for state in machine.states:
        record: dict[str, Json] = {}
        if isinstance(state, Fork):
            record |= {"parts": list(state.parts), "join": state.join}
        else:
            record["edges"] = [list(edge) for edge in state.edges]
            if state.late is not None:
                record["late"] = list(state.late)
        if state.stop is not None:
            record["stop"] = state.stop
        states.append(record)
    sliced: dict[str, Json] = {} if machine.each is None else {"each": list(machine.each)}
    opened: dict[str, Json] = {"open": True} if machine.is_open else {}
    return {
        "format": FORMAT,
        "version": VERSION,
        **sliced,
        **opened,
        "symbols": [_symbol(symbol) for symbol in machine.symbols],
        "states": states,
    }


def _symbol(symbol: Symbol) -> Json:
    plain: list[Json] = [symbol.direction, symbol.label, symbol.partner]
    if symbol.is_plain:
        return plain
    return [*plain, [clause_to_json(clause) for clause in symbol.clauses], symbol.gated]


def machine_digest(machine: Machine) -> str:
    """The identity of a compiled protocol: `sha256:…` over its tables. The name plays no part in it."""
    return digest(tables_of(machine))
