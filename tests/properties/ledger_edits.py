"""Random single edits of a ledger, as bytes: what a vandal, a bad disk or a forger without the key could do to it.

An edit says what it was and whether it only cuts off whole lines at the end, which nothing but a head can show. The
tables say where the first byte is that it changed.
"""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

from accord.ledger.entries import FRAMED, OPENING
from tests.census import Census
from tests.ledgers import KINDS


class Edit(NamedTuple):
    kind: str
    data: bytes
    only_the_end_is_gone: bool = False


def place_in(rng, lines, size):
    """A place in the bytes: anywhere, or near the seam of two lines, where a verifier is tempted to relax."""
    if rng.random() < 0.5:
        return rng.randrange(size)
    seam = sum(map(len, lines[: rng.randrange(len(lines) + 1)]))
    return min(max(seam + rng.choice((-70, -3, -2, -1, -1, 0, 0, 1, 8)), 0), size - 1)


def flip_bit(rng, lines, _):
    data = bytearray(b"".join(lines))
    place = place_in(rng, lines, len(data))
    data[place] ^= 1 << rng.randrange(8)
    return bytes(data)


def change_byte(rng, lines, _):
    data = bytearray(b"".join(lines))
    data[place_in(rng, lines, len(data))] = rng.choice(b'"\\{}[],: \n\r\t\0aA0zZ9\xff')
    return bytes(data)


def delete_bytes(rng, lines, _):
    data = b"".join(lines)
    start = place_in(rng, lines, len(data))
    return data[:start] + data[start + rng.choice((1, 1, 1, 2, 8, 64, 500)) :]


def insert_bytes(rng, lines, _):
    data = b"".join(lines)
    start = place_in(rng, lines, len(data) + 1)
    return data[:start] + rng.choice((b" ", b"\n", b"\r", b"\0", b"0", b"{}", rng.randbytes(3))) + data[start:]


def repeat_bytes(rng, lines, _):
    data = b"".join(lines)
    start = place_in(rng, lines, len(data))
    end = start + rng.choice((1, 2, 10, 400))
    return data[:end] + data[start:end] + data[end:]


def swap_bytes(rng, lines, _):
    data = bytearray(b"".join(lines))
    a, b = place_in(rng, lines, len(data)), place_in(rng, lines, len(data))
    data[a], data[b] = data[b], data[a]
    return bytes(data)


def change_case(rng, lines, _):
    data = bytearray(b"".join(lines))
    letters = [i for i in rng.sample(range(len(data)), 50) if chr(data[i]).isalpha() and data[i] < 128]
    for place in letters[:1]:
        data[place] ^= 0x20
    return bytes(data)


def delete_lines(rng, lines, _):
    start = rng.randrange(len(lines))
    return b"".join(lines[:start] + lines[start + rng.randint(1, 3) :])


def swap_lines(rng, lines, _):
    lines = list(lines)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def repeat_line(rng, lines, _):
    place = rng.randrange(len(lines))
    return b"".join([*lines[: place + 1], lines[place], *lines[place + 1 :]])


def move_line(rng, lines, _):
    lines = list(lines)
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def insert_line_of_another(rng, lines, other):
    place = rng.randrange(len(lines) + 1)
    return b"".join([*lines[:place], rng.choice(other), *lines[place:]])


def replace_line_by_another(rng, lines, other):
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], other[min(place, len(other) - 1)], *lines[place + 1 :]])


def go_on_with_another(rng, lines, other):
    place = rng.randrange(1, len(lines))
    return b"".join([*lines[:place], *other[place:]])


def copy_part(rng, lines, _):
    """A part of one line over the same place of another: a hash over a hash, a payload over a payload."""
    a, b = rng.sample(range(len(lines)), 2)
    length = rng.choice((8, 64, 67, 120))
    start = rng.randrange(1, min(len(lines[a]), len(lines[b])))
    changed = lines[b][:-start] + lines[a][-start:][:length] + lines[b][len(lines[b]) - start + length :]
    return b"".join([*lines[:b], changed, *lines[b + 1 :]])


EDITS = (
    flip_bit, change_byte, delete_bytes, insert_bytes, repeat_bytes, swap_bytes, change_case, delete_lines, swap_lines,
    repeat_line, move_line, insert_line_of_another, replace_line_by_another, go_on_with_another, copy_part,
)  # fmt: skip


def random_edit(rng, lines, other):
    """An edit that changes something."""
    whole = b"".join(lines)
    while True:
        edit = rng.choice(EDITS)
        data = edit(rng, lines, other)
        if data != whole:
            shorter = whole.startswith(data) and data.endswith(b"\n")
            return Edit(edit.__name__, data, shorter)


# -- where they were ---------------------------------------------------------------------------------------------------

BEHIND = "behind the last"
PLACES = ("begin", *(f"{kind}{place}" for kind in KINDS[1:] for place in ("", ", last")), BEHIND)
PARTS = ("opening", "entry", "before the hash", "hash", "closing", "line feed")
_LAST = [place for place in PLACES if place.endswith(", last")]
_ADDING = (insert_bytes, repeat_bytes, repeat_line, insert_line_of_another)
_NEVER = {
    **{(edit.__name__, BEHIND): "it changes what is there" for edit in EDITS if edit not in _ADDING},
    **{(edit.__name__, at): "the first of two lines counts" for edit in (swap_lines, move_line) for at in _LAST},
    ("repeat_line", "begin"): "the line before it is the one that is there twice",
    ("go_on_with_another", "begin"): "the other one begins otherwise: see replace_line_by_another",
}
IN_LINES = (flip_bit, change_byte, delete_bytes, insert_bytes, repeat_bytes, swap_bytes, change_case, copy_part)


def censuses(title):
    """Edits by the entry that they meet first, and by the part of its line."""
    return (
        Census(f"edits of a ledger, {title}", tuple(edit.__name__ for edit in EDITS), PLACES, _NEVER),
        Census(
            f"edits in a line, {title}",
            tuple(edit.__name__ for edit in IN_LINES),
            PARTS,
            {("change_case", part): "there is no letter" for part in ("closing", "line feed")}
            | {
                ("copy_part", part): "all lines are alike there" for part in ("before the hash", "closing", "line feed")
            },
        ),
    )


def met(edit, lines, kinds):
    """The place of the first byte that is another one, and the part of its line; `None` behind the last."""
    start = 0
    for number, line in enumerate(lines):
        if not edit.data.startswith(line, start):
            kind = ("begin", *kinds)[number]
            here = zip(line, edit.data[start : start + len(line)], strict=False)
            offset = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], here))
            return f"{kind}, last" if number == len(lines) - 1 else kind, _part(offset, len(line))
        start += len(line)
    return BEHIND, None


def _part(offset, size):
    ends = (len(OPENING), size - FRAMED, size - 67, size - 3, size - 1, size)
    return next(part for part, end in zip(PARTS, ends, strict=True) if offset < end)
