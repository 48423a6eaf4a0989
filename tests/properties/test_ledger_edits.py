"""No single edit of a ledger goes unseen, and these tests would notice if one did."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from accord.ledger import chain
from accord.ledger.chain import Walk
from tests.ledgers import KINDS, assorted, check, honest
from tests.properties.ledger_edits import censuses, met, random_edit

KEY = b"a key of the tests"


def random_ledgers(rng, key):
    """Ledgers of some lengths and what their entries are; each with another one of the same entries, under its key."""
    for size in (1, 1, 1, 2, 2, 4, 7, 11):
        for _ in range(3):
            kinds = rng.sample(KINDS[1:] * 2, size)
            yield kinds, assorted(kinds, key, "one"), assorted(kinds, key, "two")


def undetected(count, seed, key=None):
    """Edits that verify all the same, among so many, and where they were.

    Only where whole lines are gone from the end a head is given: nothing else can show that.
    """
    rng = random.Random(seed)
    ledgers = list(random_ledgers(rng, key))
    heads = [check(lines, key).head for _, lines, _ in ledgers]
    made, parts = censuses("with a key" if key else "without a key")
    missed, cut = [], 0
    for _ in range(count):
        number = rng.randrange(len(ledgers))
        kinds, lines, other = ledgers[number]
        edit = random_edit(rng, lines, other)
        place, part = met(edit, lines, kinds)
        made.add([(edit.kind, place)])
        if part is not None and edit.kind in parts.constructs:
            parts.add([(edit.kind, part)])
        cut += edit.only_the_end_is_gone
        if check(edit.data, key, heads[number] if edit.only_the_end_is_gone else None).ok:
            missed.append(edit)
    return missed, (made, parts), cut


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_no_single_edit_goes_unseen(key, soak, health):
    count = 500_000 if soak else 6_000
    missed, tables, cut = undetected(count, 20261115, key)
    assert missed == []
    for table in tables:
        table.check(count // 3_000)
        health(table.table())
    assert cut > count / 200
    health(f"ledger: {count:,} random single edits, {cut:,} of them cut off whole lines at the end; none unseen")


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
def test_every_bit_matters(key):
    lines = honest(7, key)
    whole = b"".join(lines)
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            assert not check(bytes(changed), key).ok, (place, bit)


def test_every_cut_matters():
    lines = honest(7)
    whole = b"".join(lines)
    head = check(whole).head
    for size in range(len(whole)):
        assert not check(whole[:size], head=head).ok
        at_a_line = whole[:size].endswith(b"\n")
        assert check(whole[:size]).ok is at_a_line


def blind_to_hashes(patch):
    patch.setattr(chain, "hmac", SimpleNamespace(compare_digest=lambda *_: True))


def careless_with_case(patch):
    patch.setattr(chain, "hmac", SimpleNamespace(compare_digest=lambda a, b: a.lower() == b.lower()))


def comparing_only_the_start_of_a_hash(patch):
    patch.setattr(chain, "hmac", SimpleNamespace(compare_digest=lambda a, b: a[:17] == b[:17]))


def blind_to_links(patch):
    patch.setattr(Walk, "_check_place", lambda *_: None)


def counting_without_linking(patch):
    def check_place(self, entry):
        if entry.seq != self.count:
            raise self._bad("out of order", "")

    patch.setattr(Walk, "_check_place", check_place)


def blind_to_frames(patch):
    patch.setattr(chain, "_framed", lambda _: True)


def tidying_lines(patch):
    take = Walk.take
    patch.setattr(Walk, "take", lambda self, line: take(self, line.strip() + b"\n"))


def forgiving_the_last_line_feed(patch):
    take = Walk.take
    patch.setattr(Walk, "take", lambda self, line: take(self, line.removesuffix(b"\n") + b"\n"))


def skipping_blank_lines(patch):
    take = Walk.take
    patch.setattr(Walk, "take", lambda self, line: line.strip() and take(self, line))


def skipping_what_it_does_not_know(patch):
    take = Walk.take

    def lenient(self, line):
        return take(self, line) if line.startswith(b'{"entry":') else None

    patch.setattr(Walk, "take", lenient)


def forgetting_the_head(patch):
    patch.setattr(Walk, "end", lambda _: None)


WEAKNESSES = [
    blind_to_hashes, careless_with_case, comparing_only_the_start_of_a_hash, blind_to_links, counting_without_linking,
    blind_to_frames, tidying_lines, forgiving_the_last_line_feed, skipping_blank_lines, skipping_what_it_does_not_know,
    forgetting_the_head,
]  # fmt: skip


@pytest.mark.parametrize("weakness", WEAKNESSES)
def test_a_weak_verifier_is_noticed(weakness, monkeypatch):
    weakness(monkeypatch)
    assert check(honest(7)).ok
    missed, *_ = undetected(3_000, 7)
    assert missed
