"""Excerpts: whatever the value, they are JSON, short, and can be sent."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from accord.integrations.excerpt import LONGEST, ROOM, cut, excerpt

TEXTS = st.text(st.characters(), max_size=30) | st.sampled_from(["data:a;base64,AA", " data:,", "\ud800", "x" * 700])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary() | st.just(10**4000)
VALUES = st.recursive(
    LEAVES | st.builds(object),
    lambda inner: (
        st.lists(inner) | st.dictionaries(TEXTS | st.integers() | st.none(), inner) | st.lists(inner).map(tuple)
    ),
)


@given(VALUES)
def test_every_value_has_an_excerpt_that_can_be_sent(value):
    shown = json.dumps(excerpt(value), ensure_ascii=False, allow_nan=False).encode()
    assert len(shown) < 12 * ROOM
    assert b'"data:' not in shown.replace(b'\\"data:', b"")


def _is_taken_for_a_file(text: str) -> bool:
    return "data:" in text or text.lstrip().startswith("@@@langfuseMedia:")


@given(TEXTS)
def test_a_text_that_needs_nothing_is_as_it_was(text):
    if text.isascii() and text.isprintable() and len(text) <= LONGEST and not _is_taken_for_a_file(text):
        assert cut(text) == text
    cut(text).encode()


def test_what_is_endless_or_full_of_itself():
    endless: list[object] = []
    endless.append(endless)
    wide: object = "x" * 100
    for _ in range(30):
        wide = [wide] * 30
    for value in (endless, wide, {"a": wide, "b": endless}, dict.fromkeys(range(10000), "y" * 400)):
        assert len(json.dumps(excerpt(value), ensure_ascii=False)) < 2 * ROOM


def test_keys_that_are_cut_alike_are_all_there():
    assert len(excerpt({"k" * 600 + end: 1 for end in "abc"})) == 3
    assert excerpt({1: "a", "1": "b"}) == {"1": "a", "1…": "b"}
