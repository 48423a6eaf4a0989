"""Growing sets with cheap old versions: against plain frozen sets, and under threads."""

import random
import sys
import threading

import pytest

from accord.language.values import freeze
from accord.machine.collection import Collection


def test_versions_are_independent_of_each_other(health):
    random_ = random.Random(1)
    count = 0
    for _ in range(60):
        versions = [(Collection(), frozenset())]
        for _ in range(60):
            version, known = random_.choice(versions[-8:] if random_.random() < 0.7 else versions)
            added = [random_.randrange(30) for _ in range(random_.randrange(4))]
            versions.append((version.with_elements(added), known | set(added)))
        for version, known in versions:
            count += 1
            assert set(version) == known
            assert len(version) == len(known)
            assert all((element in version) == (element in known) for element in range(30))
            assert version == Collection(known)
            assert hash(version) == hash(Collection(known))
    health(f"collections: {count:,} versions that share their elements")


def test_elements_come_in_the_order_in_which_they_were_added():
    first = Collection([3, 1, 3]).with_elements([2, 1, 5])
    assert list(first) == [3, 1, 2, 5]
    left, right = first.with_elements([7]), first.with_elements([8, 7])
    assert list(left) == [3, 1, 2, 5, 7]
    assert list(right) == [3, 1, 2, 5, 8, 7]
    assert list(first) == [3, 1, 2, 5]


def test_nothing_new_is_the_same_version():
    some = Collection(["a"])
    assert some.with_elements(["a", "a"]) is some
    assert some.with_elements([]) is some


def test_equality_is_about_elements():
    assert Collection([1, 2]) == Collection([2, 1.0])
    assert Collection([freeze(value=True)]) != Collection([1])
    assert Collection() != frozenset()
    assert Collection([freeze([1])]) == Collection([freeze([1.0])])


def test_what_is_added_to_one_version_is_not_in_another():
    base = Collection(range(5))
    other = base.with_elements(["x"])
    assert "x" in other
    assert "x" not in base
    assert "x" not in base.with_elements(["y"])
    assert "y" not in other


def test_a_thousand_additions_share_one_dictionary():
    version = Collection()
    for number in range(1000):
        version = version.with_elements([number])
    assert version._shared.number is version.with_elements([1000])._shared.number
    assert len(version) == 1000


@pytest.mark.parametrize("threads", [8])
def test_threads_that_extend_one_version(threads):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    try:
        for _ in range(60):
            base = Collection(range(3))
            results = [None] * threads
            barrier = threading.Barrier(threads)

            def extend(number, base=base, results=results, barrier=barrier):
                barrier.wait()
                version = base
                for step in range(15):
                    version = version.with_elements([(number, step), step])
                results[number] = version

            crew = [threading.Thread(target=extend, args=(n,)) for n in range(threads)]
            for thread in crew:
                thread.start()
            for thread in crew:
                thread.join(60)
            for number, version in enumerate(results):
                expected = {*range(15), *((number, step) for step in range(15))}
                assert set(version) == expected
                assert len(version) == len(expected)
                assert (number - 1, 0) not in version
            assert set(base) == {0, 1, 2}
    finally:
        sys.setswitchinterval(before)
