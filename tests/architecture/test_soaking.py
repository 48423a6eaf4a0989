"""Every long check belongs to one part of the soak, and every part can be run."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import pytest

from tests.soaking import PARTS, ROOT, main, runs_of, share_of

LOOKS = re.compile(r"\bsoak\b|ACCORD_SOAK|\(StoreConformance\):")
THE_VOLUME_ITSELF = {"conftest.py", "soaking.py", "architecture/test_soaking.py"}


def test_every_file_that_looks_at_the_volume_is_in_one_part():
    tests = ROOT / "tests"
    looking = {
        str(path.relative_to(ROOT))
        for path in tests.rglob("*.py")
        if str(path.relative_to(tests)) not in THE_VOLUME_ITSELF and LOOKS.search(path.read_text())
    }
    assert Counter(chain.from_iterable(part.files for part in PARTS.values())) == Counter(looking)
    assert len(looking) >= 40


def test_the_shares_of_a_part_are_all_of_it():
    items = list(range(100))
    for many in (1, 2, 3, 7):
        shares = [share_of(items, f"{number}/{many}") for number in range(1, many + 1)]
        assert sorted(chain.from_iterable(shares)) == items


def test_what_a_name_stands_for():
    many = PARTS["protocols"].shares
    assert runs_of("stores") == [("stores", "1/1")]
    assert runs_of("protocols") == [("protocols", f"{number}/{many}") for number in range(1, many + 1)]
    assert runs_of("protocols/2") == [("protocols", f"2/{many}")]
    assert len(runs_of("")) == sum(part.shares for part in PARTS.values())


@pytest.mark.parametrize("wanted", ["nonsense", "stores/2", "stores/0", "stores/x", "/1"])
def test_a_part_that_is_not_there_is_told_with_those_that_are(wanted):
    with pytest.raises(SystemExit, match=f"there is no part `{wanted}`") as told:
        main(wanted, [])
    assert all(name in str(told.value) for name in PARTS)


def test_no_part_takes_longer_than_an_hour():
    """On a machine that is half as quick as the one that was measured."""
    assert all(part.minutes <= 30 for part in PARTS.values())
