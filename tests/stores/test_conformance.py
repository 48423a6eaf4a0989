"""All four stores pass the suite that is published for stores of others."""

from __future__ import annotations

from itertools import count

import pytest

from accord.testing import StoreConformance
from tests.stores.harnesses import MemoryHarness, PostgresHarness, RedisHarness, SQLiteHarness

NUMBERS = count()


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def harness(self):
        return MemoryHarness()


class TestSQLiteStore(StoreConformance):
    @pytest.fixture
    def harness(self, tmp_path):
        return SQLiteHarness(tmp_path)


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def harness(self, postgres):
        return PostgresHarness(postgres, f"test{next(NUMBERS)}")


class TestRedisStore(StoreConformance):
    @pytest.fixture
    def harness(self, redis_server):
        return RedisHarness(redis_server)


def test_the_suite_is_large_enough():
    tests = [name for name in dir(StoreConformance) if name.startswith("test_")]
    assert len(tests) >= 60
