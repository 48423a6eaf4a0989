"""Real servers for the tests of stores, started once for each worker that needs them."""

from __future__ import annotations

import pytest

from accord.testing.servers import PostgresServer, RedisServer


def running(kind):
    """A server, or a skip that says loudly what was not tested."""
    missing = kind.why_not()
    if missing is not None:
        pytest.skip(f"NOT TESTED: {missing}")
    with kind() as server:
        yield server


@pytest.fixture(scope="session")
def postgres():
    yield from running(PostgresServer)


@pytest.fixture(scope="session")
def redis_server():
    yield from running(RedisServer)
