"""What only PostgreSQL and only Redis can do to us."""

from __future__ import annotations

from itertools import count

import psycopg
import pytest

from accord import Blocked, Ok, PostgresStore, RedisStore, StoredSession, StoreError, UsageError, Violation
from accord.stores import postgres as postgres_module
from tests.stores.harnesses import PostgresHarness, RedisHarness

ONCE = "rec X.{!note.X, !pay.end}"
NUMBERS = count()


@pytest.fixture
def database(postgres):
    return PostgresHarness(postgres, f"special{next(NUMBERS)}")


@pytest.fixture
def cache(redis_server):
    return RedisHarness(redis_server)


# -- Redis -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", ["return {'12345678', 1, ''}", "return 'x'", "return 1"])
def test_an_answer_that_somebody_left_in_a_connection_is_not_ours(cache, left):
    """The next one to use the connection would be told yes to a step that was not taken."""
    with cache.open() as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        pool = store._client.connection_pool
        connection = pool.get_connection()
        connection.send_command("EVAL", left, 0)
        connection.can_read = lambda *_, **__: False  # the answer has not arrived when the pool looks
        pool.release(connection)
        assert session.send("pay") == Blocked("the session cannot be kept (Redis has answered another question)")
        del connection.can_read
        assert isinstance(session.send("pay"), Violation), "the step was taken, and nobody was told yes"


def test_a_server_that_has_forgotten_the_script(cache):
    with cache.open() as store, cache.client as client:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        client.script_flush()
        assert session.send("pay") == Ok()


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_a_server_that_throws_sessions_away(cache, policy):
    with cache.client as client:
        client.config_set("maxmemory-policy", policy)
        try:
            with pytest.raises(UsageError, match="throws keys away"):
                cache.open()
        finally:
            client.config_set("maxmemory-policy", "noeviction")


def test_prefixes_keep_stores_apart(cache):
    with RedisStore(cache.address, prefix="a") as one, RedisStore(cache.address, prefix="a:b") as two:
        assert StoredSession(one, ONCE, "s1").send("pay") == Ok()
        assert StoredSession(two, ONCE, "s1").send("pay") == Ok()
        assert len(list(one.sessions())) == len(list(two.sessions())) == 1


def test_a_ledger_that_was_deleted(cache):
    with cache.open() as store, cache.client as client:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        client.delete(store._key("s1", "ledger"))
        assert "does not have as many entries" in session.send("pay").reason


def test_races_that_are_lost_again_and_again(cache):
    """Somebody is always quicker: after so many tries the answer is no."""
    with RedisStore(cache.address, tries=5) as store, cache.open() as other:
        StoredSession(other, ONCE, "s1").send("note")
        session = StoredSession(store, ONCE, "s1")
        plain, tries = store._step, []

        def step(key, row, change):
            tries.append(1)
            StoredSession(other, ONCE, "s1").send("note")
            return plain(key, row, change)

        store._step = step
        assert session.send("pay") == Blocked("the session cannot be kept (somebody else was quicker 5 times)")
        assert len(tries) == 5
        assert session.version == 6


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


def test_a_server_that_hung_up(database):
    """It is noticed before anything is sent, so nobody has to wonder whether it was done."""
    with database.open() as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        with store._using() as db:
            backend = db.info.backend_pid
        with psycopg.connect(database.address, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (backend,))
        assert session.send("pay") == Ok()


def test_a_server_that_hangs_up_in_the_middle(database):
    with database.open() as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        with store._using() as db:
            db.execute("CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS "
                       "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$")  # fmt: skip
            db.execute("CREATE TRIGGER t BEFORE INSERT ON accord_entries FOR EACH ROW EXECUTE FUNCTION hang_up()")
        assert isinstance(session.send("pay"), Blocked)
        with store._using() as db:
            db.execute("DROP TRIGGER t ON accord_entries")
        assert session.version == 1
        assert session.send("pay") == Ok()


def test_a_database_that_acknowledges_too_early_is_told_not_to(database):
    lax = database.address.replace("options=", "options=-csynchronous_commit%3Doff%20")
    with PostgresStore(lax) as store, store._using() as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_migration_leads_from_one_version_to_the_next(database, monkeypatch):
    with database.open() as store:
        StoredSession(store, ONCE, "s1").send("pay")
    more = (*postgres_module.MIGRATIONS, ("ALTER TABLE accord_sessions ADD COLUMN note text",))
    with monkeypatch.context() as patch:
        patch.setattr(postgres_module, "MIGRATIONS", (*more, ("nonsense",)))
        with pytest.raises(StoreError, match="syntax error"):
            database.open()
    with database.open() as store:
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Violation)
    monkeypatch.setattr(postgres_module, "MIGRATIONS", more)
    with database.open() as store:
        with store._using() as db:
            assert db.execute("SELECT version FROM accord_schema").fetchone() == (2,)
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Violation)


def test_a_row_that_somebody_has_locked(database):
    with PostgresStore(database.address, timeout=1) as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        with psycopg.connect(database.address) as other:
            other.execute("SELECT * FROM accord_sessions FOR UPDATE")
            answer = session.send("pay")
            assert isinstance(answer, Blocked)
            assert "statement timeout" in answer.reason
        assert session.send("pay") == Ok()


def test_passwords_are_not_told(database):
    secret = database.address.replace("accord@", "nobody:hunter2@")
    with pytest.raises(StoreError) as told:
        PostgresStore(secret)
    assert "hunter2" not in str(told.value)
