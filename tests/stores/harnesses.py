"""How the conformance suite opens each of our stores, and does it harm."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import contextmanager
from time import sleep

import psycopg
import redis

from accord import MemoryStore, PostgresStore, RedisStore, SQLiteStore
from accord.stores.redis import _packed
from accord.testing import StoreHarness

WAL_SEGMENT = 16 << 20


class MemoryHarness(StoreHarness):
    """One store in memory; opening it again gives the same one."""

    def __init__(self) -> None:
        self.stores = {}

    def open(self, *, secret=None, patient=True):  # noqa: ARG002
        store = self.stores.setdefault(secret, MemoryStore(secret=secret))
        for other in self.stores.values():
            store._sessions = other._sessions = self.stores[next(iter(self.stores))]._sessions
        return store

    @property
    def sessions(self):
        return self.open()._sessions

    def put_row(self, key, row):
        if row is None:
            raise NotImplementedError("a session in memory is one value: it cannot lose its row alone")
        self.sessions[key] = row, *self.sessions[key][1:]

    def put_line(self, key, number, line):
        row, lines, _ = self.sessions[key]
        lines[number : number + 1] = [] if line is None else [line]
        self.sessions[key] = row, lines, len(lines)


class SQLiteHarness(StoreHarness):
    """A file in a temporary folder."""

    def __init__(self, folder) -> None:
        self.path = folder / "sessions.db"
        self.address = str(self.path)

    def open(self, *, secret=None, patient=True):
        return SQLiteStore(self.path, secret=secret, timeout=60 if patient else 0.2)

    def run(self, statement, values=()):
        db = sqlite3.connect(self.path, isolation_level=None)
        try:
            return db.execute(statement, values).fetchall()
        finally:
            db.close()

    def put_row(self, key, row):
        self.run("DELETE FROM sessions WHERE key = ?", (key,))
        if row is not None:
            self.run("INSERT INTO sessions VALUES (?, ?, ?, ?)", (key, *row))

    def put_line(self, key, number, line):
        self.run("DELETE FROM entries WHERE key = ? AND number = ?", (key, number))
        if line is not None:
            self.run("INSERT INTO entries VALUES (?, ?, ?)", (key, number, line))

    def set_schema(self, version):
        self.run(f"PRAGMA user_version = {version}")

    def rest(self):
        """Nobody does anything for one who is gone."""

    @contextmanager
    def unreachable(self):
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            db.close()

    @contextmanager
    def full(self, store):
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 500}")
        try:
            yield
        finally:
            store._db.execute("PRAGMA max_page_count = 1000000000")


class PostgresHarness(StoreHarness):
    """A schema of its own in a running server."""

    def __init__(self, server, name) -> None:
        self.server = server
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {name}")
            (self.began,) = db.execute("SELECT clock_timestamp()").fetchone()
        self.address = f"{server.url}?options=-csearch_path%3D{name}"

    def open(self, *, secret=None, patient=True):
        # One that was stopped refuses at once, so nobody has to be in a hurry.
        return PostgresStore(self.address, secret=secret, timeout=60 if patient else 10)

    def run(self, statement, values=()):
        with psycopg.connect(self.address, autocommit=True) as db:
            db.execute(statement, values)

    def put_row(self, key, row):
        self.run("DELETE FROM accord_sessions WHERE key = %s", (key,))
        if row is not None:
            self.run("INSERT INTO accord_sessions VALUES (%s, %s, %s, %s)", (key, *row))

    def put_line(self, key, number, line):
        self.run("DELETE FROM accord_entries WHERE key = %s AND number = %s", (key, number))
        if line is not None:
            self.run("INSERT INTO accord_entries VALUES (%s, %s, %s)", (key, number, line))

    def set_schema(self, version):
        self.run("UPDATE accord_schema SET version = %s", (version,))

    @contextmanager
    def unreachable(self):
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()

    @contextmanager
    def full(self, store):
        """No file may grow beyond the size that a segment of the write-ahead log has from the beginning."""
        with store._using() as db:
            backend = db.info.backend_pid
        self.limit_files(backend, f"{WAL_SEGMENT}:")
        try:
            yield
        finally:
            self.limit_files(backend, "unlimited:")

    def limit_files(self, backend, limit):
        prlimit = shutil.which("prlimit")
        if prlimit is None:
            raise NotImplementedError("needs the command prlimit")
        subprocess.run([prlimit, "--pid", str(backend), f"--fsize={limit}"], check=True, **self.server.owner())

    def restart(self):
        self.server.crash()

    def rest(self):
        """Wait until the server has noticed of everybody who is gone that they are."""
        query = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'accord' AND backend_start > %s"
        with psycopg.connect(self.address, autocommit=True) as db:
            while db.execute(query, (self.began,)).fetchone():
                sleep(0.01)


class RedisHarness(StoreHarness):
    """An emptied Redis."""

    def __init__(self, server) -> None:
        self.server = server
        self.address = server.url
        self.client.flushall()

    @property
    def client(self):
        return redis.Redis.from_url(self.address)

    def open(self, *, secret=None, patient=True):
        return RedisStore(self.address, secret=secret, timeout=60 if patient else 10)

    def put_row(self, key, row):
        with self.client as client, self.open() as store:
            name = store._key(key, "session")
            client.delete(name) if row is None else client.set(name, _packed(row))

    def put_line(self, key, number, line):
        with self.client as client, self.open() as store:
            name = store._key(key, "ledger")
            if number == client.llen(name):
                client.rpush(name, line)
            else:
                client.lset(name, number, line or "gone")
            if line is None:
                client.lrem(name, 1, "gone")

    def set_schema(self, version):
        with self.client as client:
            client.set("accord:schema", version)

    @contextmanager
    def unreachable(self):
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()

    @contextmanager
    def full(self, store):  # noqa: ARG002
        with self.client as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 2_000_000)
            try:
                yield
            finally:
                client.config_set("maxmemory", 0)

    def restart(self):
        self.server.crash()

    def rest(self):
        """What had come before the first question is done before the second is answered."""
        with self.client as client:
            client.ping()
            client.ping()
