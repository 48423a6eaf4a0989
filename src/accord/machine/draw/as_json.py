"""A machine as JSON text: what the codec encodes, one symbol and one state to a line so that it can be compared.

The text is ASCII. So it survives any terminal and any encoding of a pipe, and no label can do anything to either.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.machine.codec import encode_machine

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.machine.tables import Machine

__all__ = ["draw_json"]


def draw_json(machine: Machine) -> str:
    """The JSON object that `accord.machine.codec.decode_machine` reads."""
    encoded = encode_machine(machine)
    order = ("format", "version", "name", "digest", "symbols", "states")
    fields = [f"  {json.dumps(key)}: {_value(encoded[key])}" for key in order]
    return "{\n" + ",\n".join(fields) + "\n}"


def _value(value: Json) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
    return json.dumps(value)
