"""The stores in which long lives are kept, with the servers that the tests of stores start."""

from __future__ import annotations

from itertools import count

import pytest

from tests.stores.conftest import postgres, redis_server
from tests.stores.harnesses import PostgresHarness, RedisHarness, SQLiteHarness

__all__ = ["postgres", "redis_server"]

NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def harness(request, tmp_path):
    if request.param == "sqlite":
        return SQLiteHarness(tmp_path)
    if request.param == "postgres":
        return PostgresHarness(request.getfixturevalue("postgres"), f"lives{next(NUMBERS)}")
    return RedisHarness(request.getfixturevalue("redis_server"))
