"""A machine as JSON text: what the codec encodes, one symbol and one state to a line so that it can be compared.

A rule is an object with its name and its text; `format` tells the two apart.

The text is ASCII. So it survives any terminal and any encoding of a pipe, and no label can do anything to either.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.machine.codec import encode_machine

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.machine.rules import RuleMachine
    from accord.machine.tables import Machine

__all__ = ["draw_json", "draw_rule_json"]


def draw_json(machine: Machine) -> str:
    """The JSON object that `accord.machine.codec.decode_machine` reads."""
    encoded = encode_machine(machine)
    order = ("format", "version", "name", "each", "open", "digest", "symbols", "states")
    fields = [f"  {json.dumps(key)}: {_value(key, encoded[key])}" for key in order if key in encoded]
    return "{\n" + ",\n".join(fields) + "\n}"


def draw_rule_json(rule: RuleMachine) -> str:
    """A JSON object with the name of a rule and what stands between its braces."""
    return json.dumps({"format": "accord.rule", "version": 1, "name": rule.rule.name, "text": rule.text})


def _value(key: str, value: Json) -> str:
    if isinstance(value, list) and value and key != "each":
        return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
    return json.dumps(value)
