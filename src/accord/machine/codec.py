"""Machines as JSON and back, with a version and a digest.

The digest covers the canonical bytes of the tables, so a file that was edited, cut short or written by another
version is refused instead of run. Reading trusts nothing: every number is checked before it is used as an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from accord.canonical import digest
from accord.errors import UsageError
from accord.language.clauses import Bind, Guard, Value
from accord.language.durations import LONGEST
from accord.language.interchange import clause_from_json
from accord.language.labels import is_name
from accord.language.patterns import PatternError, compile_pattern
from accord.machine.forks import check_forks
from accord.machine.identity import FORMAT, VERSION, machine_digest, tables_of
from accord.machine.tables import Fork, Late, Machine, Plain, State, Stop, Symbol

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.language.tree import Direction

__all__ = ["decode_machine", "encode_machine"]


class _StateRecord(msgspec.Struct, forbid_unknown_fields=True):
    edges: list[tuple[int, int]] | None = None
    parts: list[int] | None = None
    join: int | None = None
    late: tuple[int, int] | None = None
    stop: Stop = None


class _MachineRecord(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    digest: str
    symbols: list[list[object]]
    states: list[_StateRecord]
    name: str | None = None
    each: list[str] | None = None
    open: bool = False


# Made once, while the module is imported: making it is not safe when several threads do it at the same time.
_RECORDS = msgspec.json.Decoder(_MachineRecord)


def encode_machine(machine: Machine) -> dict[str, Json]:
    """A machine as a JSON object."""
    tables = tables_of(machine)
    return {**tables, "name": machine.name, "digest": digest(tables)}


def decode_machine(value: bytes | str | dict[str, Json]) -> Machine:
    """A machine from its JSON text or object.

    Raises `UsageError` that says what is wrong if it is not exactly what `encode_machine` writes.
    """
    try:
        record = _RECORDS.decode(value if isinstance(value, bytes | str) else msgspec.json.encode(value))
    except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError) as error:
        raise UsageError(f"this is no machine: {error}") from None
    if record.format != FORMAT or record.version != VERSION:
        found = f"{record.format} version {record.version}"
        raise UsageError(f"expected {FORMAT} version {VERSION}, found {found}")
    symbols = tuple(_symbol(number, fields) for number, fields in enumerate(record.symbols))
    states = tuple(_state(number, state, record) for number, state in enumerate(record.states))
    if not states:
        raise UsageError("this is no machine: it has no states")
    if len(set(symbols)) != len(symbols):
        raise UsageError("this is no machine: a symbol stands twice")
    if record.each == []:
        raise UsageError("this is no machine: it is sliced by no field")
    each = None if record.each is None else tuple(record.each)
    machine = Machine(symbols, states, record.name, each, record.open)
    check_forks(machine)
    _check_clauses(machine)
    if machine_digest(machine) != record.digest:
        raise UsageError("the machine does not match its digest: it was changed after it was written")
    return machine


def _check_clauses(machine: Machine) -> None:
    """What the language's own checks would have found in the text."""
    clauses = [clause for symbol in machine.symbols for clause in symbol.clauses]
    bound = {clause.register for clause in clauses if isinstance(clause, Bind)}
    if bound & machine.sets:
        raise UsageError(f"register {min(bound & machine.sets)!r} is both bound and collected into")
    for clause in clauses:
        if isinstance(clause, Guard) and clause.operator == "matches" and isinstance(clause.operand, Value):
            try:
                compile_pattern(str(clause.operand.scalar))
            except PatternError as error:
                raise UsageError(f"a pattern is not valid: {error}") from None
    if any(symbol.gated and symbol.direction == "!" for symbol in machine.symbols):
        raise UsageError("a message that is sent has a gate")


def _symbol(number: int, fields: list[object]) -> Symbol:
    at = f"$.symbols[{number}]"
    if len(fields) not in {3, 5}:
        raise UsageError(f"expected 3 or 5 fields, got {len(fields)} - at `{at}`")
    direction, label, partner = fields[:3]
    if direction not in {"!", "?"} or not isinstance(label, str) or not label:
        raise UsageError(f"expected a direction and a label - at `{at}`")
    if partner is not None and not (isinstance(partner, str) and is_name(partner)):
        raise UsageError(f"expected the name of a role - at `{at}[2]`")
    heading: Direction = "!" if direction == "!" else "?"
    if len(fields) == 3:
        return Symbol(heading, label, partner)
    clauses, gated = fields[3:]
    if not isinstance(clauses, list) or not isinstance(gated, bool) or not (clauses or gated):
        raise UsageError(f"expected clauses and a gate - at `{at}`")
    read = tuple(clause_from_json(clause, f"{at}[3][{index}]") for index, clause in enumerate(clauses))
    return Symbol(heading, label, partner, read, gated)


def _state(number: int, state: _StateRecord, record: _MachineRecord) -> State:
    def known(target: int) -> int:
        if not 0 <= target < len(record.states):
            raise UsageError(f"state {number} leads to state {target}, which does not exist")
        return target

    if state.edges is not None and state.parts is None and state.join is None:
        symbols = [symbol for symbol, _ in state.edges]
        if len(set(symbols)) != len(symbols) or not all(0 <= symbol < len(record.symbols) for symbol in symbols):
            raise UsageError(f"the edges of state {number} name no proper symbols")
        late = None
        if state.late is not None:
            milliseconds, target = state.late
            if not 0 < milliseconds <= LONGEST or not state.edges:
                raise UsageError(f"the deadline of state {number} is none")
            late = Late(milliseconds, known(target))
        return Plain(tuple((symbol, known(target)) for symbol, target in state.edges), state.stop, late)
    if state.edges is None and state.late is None and state.parts is not None and state.join is not None:
        if len(state.parts) < 2 or state.stop == "end":
            raise UsageError(f"state {number} is no proper fork")
        return Fork(tuple(map(known, state.parts)), known(state.join), state.stop)
    raise UsageError(f"state {number} is neither a plain state nor a fork")
