"""Where a session stands and what it holds, as JSON values and back. Reading checks everything it is given.

Frozen values are tagged as they are in memory: `["list", […]]`, `["bool", true]`. What JSON has no word for is an
object: `{"unbound": true}`, `{"set": […]}`, `{"float": "nan"}`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from accord.canonical import encode
from accord.errors import UsageError
from accord.language.values import DEEPEST
from accord.machine.clocks import time_of
from accord.machine.collection import Collection
from accord.machine.guards import UNBOUND
from accord.machine.tables import Fork
from accord.machine.taking import Possibilities

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.language.values import Frozen
    from accord.machine.configurations import Configuration
    from accord.machine.guards import Held, Registers
    from accord.machine.standing import Standing
    from accord.machine.tables import Machine
    from accord.machine.taking import Holding

__all__ = [
    "configuration_from_json",
    "configuration_to_json",
    "frozen_from_json",
    "frozen_to_json",
    "holding_from_json",
    "holding_to_json",
]


# Up to here a float and the whole number of the same digits are one number; beyond, JSON would make the one the other.
_LARGEST_ALIKE = 2**53

# Integers with more bits are written in hexadecimal: Python and JSON readers refuse the decimal digits of huge ones.
_LARGEST_PLAIN = 1000


def configuration_to_json(configuration: Configuration) -> Json:
    """A configuration as nested arrays."""
    if len(configuration) == 1:
        return [configuration[0]]
    number, parts, *due = configuration
    return [number, [configuration_to_json(part) for part in parts], *due]


def configuration_from_json(value: object, machine: Machine, depth: int) -> Configuration:
    """A configuration whose every number is known to be a state; the checksum may be right and the numbers wrong."""
    damaged = UsageError("the snapshot is damaged: it names no place of this contract")
    if depth < 0 or not isinstance(value, list | tuple) or not 1 <= len(value) <= 3:
        raise damaged
    number, *more = value
    if type(number) is not int or not 0 <= number < len(machine.states):
        raise damaged
    state = machine.states[number]
    if not more:
        # In a protocol with deadlines a fork is entered at once, and a deadline runs from the beginning.
        if machine.is_timed and (isinstance(state, Fork) or state.late is not None):
            raise damaged
        return (number,)
    parts, *time = more
    if not isinstance(parts, list | tuple):
        raise damaged
    inside = tuple(sorted(configuration_from_json(part, machine, depth - 1) for part in parts))
    if not time:
        if not inside or number not in machine.joins:
            raise damaged
        return (number, inside)
    due = time_of(time[0])
    if isinstance(state, Fork):
        fits = machine.is_timed and bool(inside) and due == 0 and state.stop is not None
    else:
        fits = not inside and state.late is not None
    if not fits or due is None:
        raise damaged
    return (number, inside, due)


def holding_to_json(holding: Holding) -> Json:
    """Registers as an array; possibilities as an object."""
    if isinstance(holding, Possibilities):
        # In an order of their own, registers too: a set has another one in each process.
        pairs = [(configuration, _registers_to_json(registers)) for configuration, registers in holding.pairs]
        pairs.sort(key=lambda pair: (pair[0], encode(pair[1])))
        return {"possibilities": [[configuration_to_json(c), registers] for c, registers in pairs]}
    return _registers_to_json(holding)


def _registers_to_json(registers: Registers) -> Json:
    return [_held_to_json(held) for held in registers]


def _held_to_json(held: Held) -> Json:
    if held is UNBOUND:
        return {"unbound": True}
    if isinstance(held, Collection):
        return {"set": [frozen_to_json(element) for element in held]}
    return frozen_to_json(cast("Frozen", held))


def frozen_to_json(value: Frozen) -> Json:
    """A frozen value as JSON."""
    if isinstance(value, float) and not abs(value) <= _LARGEST_ALIKE:
        return {"float": str(value)}
    if isinstance(value, int) and value.bit_length() > _LARGEST_PLAIN:
        return {"int": hex(value)}
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return {"text": json.dumps(value)}
    if not isinstance(value, tuple):
        return value
    tag, inside = value
    if tag == "list":
        return [tag, [frozen_to_json(item) for item in cast("tuple[Frozen, ...]", inside)]]
    if tag == "map":
        return [
            tag,
            [
                [frozen_to_json(key), frozen_to_json(item)]
                for key, item in cast("tuple[tuple[str, Frozen], ...]", inside)
            ],
        ]
    return [tag, cast("bool", inside)]


def holding_from_json(value: object, standing: Standing) -> Holding:
    """What a session holds that stands there."""
    start = standing.standings.registers
    if not start and value in (None, []):
        return ()
    if isinstance(value, dict) and set(value) == {"possibilities"} and isinstance(value["possibilities"], list):
        limits, machine = standing.standings.limits, standing.standings.machine
        pairs = set()
        for pair in value["possibilities"][: limits.configurations + 1]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise _damaged()
            configuration = configuration_from_json(pair[0], machine, limits.interleaving_depth)
            pairs.add((configuration, _registers_from_json(pair[1], start)))
        if len(pairs) < 2 or {configuration for configuration, _ in pairs} != set(standing.configurations):
            raise _damaged()
        return Possibilities(frozenset(pairs))
    if len(standing.configurations) > 1:
        raise _damaged()
    return _registers_from_json(value, start)


def _damaged() -> UsageError:
    return UsageError("the snapshot is damaged: it holds no registers of this contract")


def _registers_from_json(value: object, start: Registers) -> Registers:
    if not isinstance(value, list) or len(value) != len(start):
        raise _damaged()
    registers = tuple(_held_from_json(item) for item in value)
    for held, first in zip(registers, start, strict=True):
        if isinstance(held, Collection) != isinstance(first, Collection):
            raise _damaged()
    return registers


def _held_from_json(value: object) -> Held:
    if value == {"unbound": True}:
        return UNBOUND
    if isinstance(value, dict) and set(value) == {"set"} and isinstance(value["set"], list):
        return Collection(frozen_from_json(item) for item in value["set"])
    return frozen_from_json(value)


def _odd_scalar(value: dict[str, object]) -> Frozen:
    """A float that JSON would change, an integer too long for decimal digits, a text with half of a surrogate pair."""
    try:
        if "float" in value:
            number = float(str(value["float"]))
            if frozen_to_json(number) != value:
                raise _damaged()
            return number
        if "int" in value:
            return int(str(value["int"]), 16)
        text = json.loads(str(value["text"]))
    except ValueError:
        raise _damaged() from None
    if not isinstance(text, str):
        raise _damaged()
    return text


def frozen_from_json(value: object, depth: int = DEEPEST) -> Frozen:
    """The frozen value in JSON; `UsageError` if there is none."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    if isinstance(value, dict) and set(value) in ({"float"}, {"int"}, {"text"}):
        return _odd_scalar(value)
    if not isinstance(value, list) or len(value) != 2 or depth < 0:
        raise _damaged()
    tag, inside = value
    if tag == "bool" and isinstance(inside, bool):
        return ("bool", inside)
    if tag == "list" and isinstance(inside, list):
        return ("list", tuple(frozen_from_json(item, depth - 1) for item in inside))
    if tag == "map" and isinstance(inside, list):
        items = []
        for item in inside:
            key = frozen_from_json(item[0], 0) if isinstance(item, list) and len(item) == 2 else None
            if not isinstance(key, str):
                raise _damaged()
            items.append((key, frozen_from_json(item[1], depth - 1)))
        if any(one[0] >= other[0] for one, other in pairwise(items)):  # each field once and in order, as frozen values
            raise _damaged()
        return ("map", tuple(items))
    raise _damaged()
