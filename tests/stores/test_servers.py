"""What only PostgreSQL and only Redis can do to us."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import traceback
from itertools import count

import psycopg
import pytest

from accord import Blocked, Ok, PostgresStore, RedisStore, StoredSession, StoreError, UsageError, Violation
from accord.stores import open_store
from accord.stores import postgres as postgres_module
from accord.testing.conformance.concurrency import all_at_once
from accord.testing.conformance.forks import Child
from accord.testing.servers import PostgresServer, RedisServer
from tests.stores.harnesses import PostgresHarness, RedisHarness
from tests.stores.proxy import Proxy

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


@pytest.mark.parametrize("text", [b"", b"garbage", b"\xff\x00", b"-1 \nx", b"1 nan\nx", b"9" * 5000, b"01 \nx", None])
def test_what_is_no_record_is_told_refused_and_can_be_forgotten(cache, text):
    with cache.open() as store, cache.client as client:
        for key in ("s0", "s1", "s2"):
            StoredSession(store, ONCE, key).send("note")
        warm, name = StoredSession(store, ONCE, "s1"), store._key("s1", "session")
        warm.send("note")
        client.delete(name)
        client.hset(name, "no", "text") if text is None else client.set(name, text)
        assert {info.key: info.fault is None for info in store.sessions()} == {"s0": True, "s1": False, "s2": True}
        for session in (warm, StoredSession(store, ONCE, "s1")):
            assert "session `s1` is corrupted" in session.send("pay").reason
        assert store.forget("s1")
        assert len(list(store.sessions())) == 2
        assert StoredSession(store, ONCE, "s1").send("pay") == Ok()


@pytest.mark.parametrize("name", [b"accord:{\xff}:session", b"accord:{%73%31}:session", b"accord:{s1}:more}:session"])
def test_keys_that_only_look_like_ours(cache, name):
    with cache.open() as store, cache.client as client:
        StoredSession(store, ONCE, "s1").send("note")
        client.set(name, client.get(store._key("s1", "session")))
        assert [(info.key, info.fault) for info in store.sessions()] == [("s1", None)]


def test_a_session_that_everybody_wants(cache):
    """Nobody is turned away because others are quicker."""
    answers = []
    with cache.open() as store:

        def work(_):
            session = StoredSession(store, ONCE, "s1")
            answers.extend(session.send("note") for _ in range(25))

        all_at_once(work, 32)
        assert answers == [Ok()] * 800
        assert store.verify("s1").entries == 801


def test_a_fork_while_a_thread_holds_a_lock_of_the_driver(cache):
    """That thread is not in the child, so it would never let go."""
    with cache.open() as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        inside, over = threading.Event(), threading.Event()

        def hold():
            with store._client.connection_pool._lock:
                inside.set()
                over.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(60)
        child = os.fork()
        if child == 0:
            signal.alarm(100)  # a child that is stuck ends
            os._exit(0 if session.send("pay") == Ok() else 1)
        try:
            assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()
            thread.join()
        assert isinstance(session.send("pay"), Violation)


# -- both --------------------------------------------------------------------------------------------------------------


def connection_of(store):
    """What the server calls the connection that this thread uses."""
    if isinstance(store, RedisStore):
        return store._client.client_id()
    with store._using() as db:
        return db.info.backend_pid


@pytest.mark.parametrize("kind", ["database", "cache"])
def test_a_child_has_a_connection_of_its_own(request, kind):
    """One that it shared with its parent would do until both are in the middle of something."""
    with request.getfixturevalue(kind).open() as store:
        session = StoredSession(store, ONCE, "s1")
        session.send("note")
        ours = connection_of(store)

        def work(_):
            assert session.send("note") == Ok()
            assert connection_of(store) != ours

        Child(work).end()
        assert connection_of(store) == ours, "and nobody has closed ours"
        assert session.send("pay") == Ok()


@pytest.mark.parametrize(
    ("kind", "asked", "warm"),
    [
        ("database", b"moved", True), ("database", b"COMMIT", False),
        ("cache", b"EVALSHA", True), ("cache", b"EVALSHA", False),
    ],
    ids=["PostgreSQL, a statement", "PostgreSQL, a commit", "Redis, a guess", "Redis, no guess"],
)  # fmt: skip
def test_an_answer_that_is_lost_on_the_way(request, kind, asked, warm):
    """The step is taken and the connection is gone: the answer is no, and the next look tells the truth."""
    harness = request.getfixturevalue(kind)
    port = harness.server.port
    with Proxy(port) as proxy, harness.open() as around:
        cut = harness.address.replace(f":{port}", f":{proxy.port}")
        with type(around)(cut, timeout=5) as store:
            session = StoredSession(store, ONCE, "s1")
            session.send("note")
            if not warm:
                session = StoredSession(store, ONCE, "s1")
            proxy.wanted = asked
            answer = session.send("pay")
            assert proxy.cut.is_set()
            assert isinstance(answer, Blocked)
            assert StoredSession(around, ONCE, "s1").status == session.status == "complete"
            assert isinstance(session.send("pay"), Violation)
            assert around.verify("s1").entries == 4


@pytest.mark.parametrize("kind", [PostgresServer, RedisServer])
def test_a_server_whose_port_was_taken_meanwhile_begins_on_another(kind):
    if kind.why_not() is not None:
        pytest.skip(f"NOT TESTED: {kind.why_not()}")
    server = kind()
    port = server.port
    with socket.create_server(("127.0.0.1", port)), server:
        assert server.port != port
        with open_store(server.url) as store:
            assert StoredSession(store, ONCE, "s1").send("pay") == Ok()


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        (RedisStore, "redis://:hunter2@127.0.0.1:hunter2/0"),
        (RedisStore, "redis://:hunter2/0@127.0.0.1:1/0"),
        (RedisStore, "redis://u:hunter2@[bad/0"),
        (PostgresStore, "postgresql://u:hunter2@[bad/x"),
        (PostgresStore, "postgresql://u:hunter2/x@127.0.0.1/x"),
        (PostgresStore, "postgresql://u:x@127.0.0.1/x?hunter2"),
        (PostgresStore, "postgresql://u:%zzhunter2@127.0.0.1/x"),
        (PostgresStore, "host=127.0.0.1 password='hunter2"),
    ],
)
def test_an_address_that_is_none_is_not_repeated(kind, address):
    """What is wrong with it is most often the password."""
    with pytest.raises(UsageError, match="this is no address of a") as told:
        kind(address, timeout=1)
    assert "hunter2" not in "".join(traceback.format_exception(told.value)).replace(f'"{address}"', "")


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


@pytest.mark.parametrize("level", ["repeatable\\%20read", "serializable"])
def test_a_database_with_another_isolation(database, level):
    """Whoever waits for a row sees what became of it, whatever others want to see by default."""
    strict = database.address.replace("options=", f"options=-cdefault_transaction_isolation%3D{level}%20")
    answers = []
    with PostgresStore(strict) as store:
        all_at_once(lambda _: answers.append(StoredSession(store, ONCE, "s1").send("note")), 16)
        assert answers == [Ok()] * 16


def test_a_server_that_does_not_answer(database):
    """It is not down: it takes what is sent, and says nothing."""
    with database.open() as patient:
        StoredSession(patient, ONCE, "s1").send("note")
    with PostgresStore(database.address, timeout=1) as store:
        session = StoredSession(store, ONCE, "s1")
        assert session.status == "running"  # it knows where it stands, so it asks for the step at once
        with store._using() as db:
            backend = db.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        try:
            answer = session.send("pay")
            assert isinstance(answer, Blocked)
            assert "no answer within" in answer.reason
            assert not any(lane.db for lane in store._lanes), "it may hold a lock that others wait for"
            assert session.status == "running"
        finally:
            os.kill(backend, signal.SIGCONT)
        with psycopg.connect(database.address, autocommit=True) as other:
            while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (backend,)).fetchone():
                time.sleep(0.01)
        assert session.status == "complete", "it was done after all, and the next look tells"
        assert isinstance(session.send("pay"), Violation)


def test_an_interrupt_stays_one_when_the_connection_is_gone(database):
    with database.open() as store:
        StoredSession(store, ONCE, "s1").send("note")
        with store._using() as db:
            pass

        def judge(_):
            db.close()
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.exchange("s1", None, judge)
        assert StoredSession(store, ONCE, "s1").send("pay") == Ok()


def test_a_worker_that_may_not_make_tables(database):
    """Whoever runs the database has made them."""
    with database.open() as store, store._using() as db:
        name = db.execute("SELECT current_schema()").fetchone()[0]
        db.execute(f"CREATE ROLE {name} LOGIN")
        db.execute(f"GRANT USAGE ON SCHEMA {name} TO {name}")
        db.execute(f"GRANT ALL ON accord_sessions, accord_entries TO {name}")
        db.execute(f"GRANT SELECT ON accord_schema TO {name}")
    with PostgresStore(database.address.replace("accord@", f"{name}@")) as store:
        assert StoredSession(store, ONCE, "s1").send("pay") == Ok()


def test_looking_at_a_database_that_cannot_be_written(database):
    with database.open() as store:
        StoredSession(store, ONCE, "s1").send("note")
    standby = database.address.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    with PostgresStore(standby) as store:
        assert [info.fault for info in store.sessions()] == [None]
        assert store.verify("s1").ok
        assert isinstance(StoredSession(store, ONCE, "s1").send("pay"), Blocked)


def test_tables_in_a_schema_behind_the_first_are_another_store(database):
    with database.open() as store, store._using() as db:
        name = db.execute("SELECT current_schema()").fetchone()[0]
        db.execute(f"CREATE SCHEMA before_{name}")
    StoredSession(store := database.open(), ONCE, "s1").send("pay")
    with PostgresStore(database.address.replace(name, f"before_{name},{name}")) as other, store:
        assert StoredSession(other, ONCE, "s1").send("pay") == Ok()
        assert len(list(other.sessions())) == len(list(store.sessions())) == 1


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_with_another_encoding(postgres, encoding):
    name = f"other_{encoding.lower()}"
    with psycopg.connect(postgres.url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'")
    with PostgresStore(postgres.url.replace("/postgres", f"/{name}")) as store:
        for key in ("a", "ä"):
            assert StoredSession(store, ONCE, key).send("pay") == Ok()
            assert isinstance(StoredSession(store, ONCE, key).send("pay"), Violation)
        assert [(info.key, info.fault) for info in store.sessions()] == [("a", None), ("ä", None)]
        answer = StoredSession(store, ONCE, "😀").send("pay")
        assert answer == Ok() if encoding == "SQL_ASCII" else isinstance(answer, Blocked)


def test_a_row_without_a_key_is_told(database):
    with database.open() as store:
        StoredSession(store, ONCE, "s1").send("note")
        database.run("INSERT INTO accord_sessions SELECT '', version, expires, sealed FROM accord_sessions")
        assert {info.key: info.fault is None for info in store.sessions()} == {"": False, "s1": True}


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
    with PostgresStore(database.address, timeout=1) as store, database.open() as patient:
        session = StoredSession(patient, ONCE, "s1")
        session.send("note")
        with psycopg.connect(database.address) as other:
            other.execute("SELECT * FROM accord_sessions FOR UPDATE")
            answer = StoredSession(store, ONCE, "s1").send("pay")
            assert isinstance(answer, Blocked)
            assert "statement timeout" in answer.reason
        assert session.send("pay") == Ok()


def test_passwords_are_not_told(database):
    secret = database.address.replace("accord@", "nobody:hunter2@")
    with pytest.raises(StoreError) as told:
        PostgresStore(secret)
    assert "hunter2" not in str(told.value)
