from __future__ import annotations

import ast

import pytest

from accord.agents.check.literals import cannot_be
from accord.language.global_tree import Enumeration, FieldType

ENUMS = {"Size": Enumeration("Size", ("small", "large"))}
INTS = FieldType("List", (FieldType("Int"),))


def of(name: str, *inside: str) -> FieldType:
    return FieldType(name, tuple(map(FieldType, inside)))


@pytest.mark.parametrize(
    ("type_", "fitting", "wrong"),
    [
        (of("String"), ["'x'", "f'{x}'", "x", "find()", "'a' if x else 'b'"], ["1", "None", "[]", "{}", "-1", "b'x'"]),
        (of("Int"), ["1", "-1", "x", "1 + x"], ["1.5", "True", "'1'", "f'{x}'", "1 if x else None"]),
        (of("Float"), ["1", "1.5", "-1.5"], ["True", "'1'", "lambda: 1"]),
        (of("Bool"), ["True", "x"], ["0", "'yes'"]),
        (of("Option", "Int"), ["None", "3"], ["'x'"]),
        (INTS, ["[]", "[1, x]", "(1,)", "[y for y in z]", "None or x"], ["['a']", "1", "{}", "(y for y in z)"]),
        (of("Map", "String", "Int"), ["{}", "{'a': 1}", "x"], ["[]", "1"]),
        (of("Size"), ["'small'", "x", "f'{x}'"], ["'huge'", "1", "{}"]),
        (of("Any"), ["1", "None", "{}"], ["lambda: 1"]),
    ],
)
def test_values_that_certainly_do_not_fit(type_, fitting, wrong):
    for text, expected in [*((text, False) for text in fitting), *((text, True) for text in wrong)]:
        value = ast.parse(text, mode="eval").body
        assert cannot_be(value, type_, ENUMS) is expected, text
