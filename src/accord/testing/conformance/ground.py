"""What all tests of the suite stand on."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import accord
from accord.stores import StoredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["ONE_SHOT", "Ground", "session_of", "where_possible"]

ONE_SHOT = """
protocol Work = rec X.{!note.X, !pay.X, !limited.X, end}
rule "pay once" { at most 1 pay }
rule "seven times" { at most 7 limited }
"""
"""Anything may be noted at any time; a payment is made once, and seven of something else."""


class Ground:
    """An empty store, and what a test wants of it."""

    @pytest.fixture
    def harness(self) -> StoreHarness:
        """The store under test; to be given by whoever derives a class from the suite."""
        raise NotImplementedError("give your class a fixture `harness` that returns a StoreHarness")

    @pytest.fixture
    def store(self, harness: StoreHarness) -> Iterator[Store]:
        """The store, opened."""
        with harness.open() as opened:
            yield opened

    @pytest.fixture
    def soak(self) -> bool:
        """Whether the long tests run at full volume."""
        return bool(os.environ.get("ACCORD_SOAK"))

    @pytest.fixture
    def tell(self, record_property: Callable[[str, object], None]) -> Callable[[str], None]:
        """Call it with a sentence about what a test looked at."""
        return lambda sentence: record_property("health", sentence)


def session_of(store: Store, text: str, key: str = "s1", **options: object) -> StoredSession:
    """A session under a contract given as text."""
    return StoredSession(store, accord.compile(text), key, **options)  # type: ignore[arg-type]


@contextmanager
def where_possible() -> Iterator[None]:
    """Skip what this kind of store has no way to do, and say so."""
    try:
        yield
    except NotImplementedError as error:
        pytest.skip(f"the harness of this store has no way to do this ({str(error) or 'not implemented'})")
