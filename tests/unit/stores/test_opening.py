"""Stores by their addresses, and drivers that are not installed."""

from __future__ import annotations

import builtins
import subprocess
import sys

import pytest

from accord import (
    MemoryStore,
    PostgresStore,
    RedisStore,
    SQLiteStore,
    StoredSession,
    StoreError,
    UsageError,
    open_store,
)


def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for address in ("a.db", str(tmp_path / "b.db"), "sqlite:///c.db", f"sqlite:///{tmp_path}/d%20d.db"):
        with open_store(address) as store:
            assert isinstance(store, SQLiteStore)
    assert {path.name for path in tmp_path.glob("*.db")} == {"a.db", "b.db", "c.db", "d d.db"}


def test_memory():
    assert isinstance(open_store("memory:"), MemoryStore)


def test_nothing_is_made_unasked(tmp_path):
    with pytest.raises(UsageError, match="there is no store at"):
        open_store(str(tmp_path / "x.db"), create=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["", "sqlite:", "sqlite://x.db", "sqlite:///", "mysql://x", None, 7])
def test_what_is_no_address(address):
    with pytest.raises(UsageError):
        open_store(address)


@pytest.mark.parametrize("address", ["redis://127.0.0.1:1/0", "postgresql://127.0.0.1:1/x"])
def test_servers_that_are_not_there(address):
    with pytest.raises(StoreError, match=r"(Redis|PostgreSQL) says: .*refused"):
        open_store(address)


@pytest.mark.parametrize(("kind", "extra"), [(PostgresStore, "postgres"), (RedisStore, "redis")])
def test_a_driver_that_is_not_installed(monkeypatch, kind, extra):
    plain = builtins.__import__

    def without(name, *arguments):
        if name.partition(".")[0] in {"psycopg", "redis"}:
            raise ImportError(name)
        return plain(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=rf"pip install 'accord-contracts\[{extra}\]'"):
        kind("redis://127.0.0.1:1/0")


def test_no_driver_is_loaded_unasked():
    code = "import sys, accord.stores; from accord import SQLiteStore; print({'psycopg', 'redis'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.parametrize("prefix", ["", "a{b", "a b", "ä", None])
def test_what_is_no_prefix(prefix):
    with pytest.raises(UsageError, match="a prefix has"):
        RedisStore("redis://127.0.0.1:1/0", prefix=prefix)


@pytest.mark.parametrize("secret", [b"", "text", 7])
def test_what_is_no_secret(secret):
    with pytest.raises(UsageError, match="non-empty `bytes`"):
        MemoryStore(secret=secret)


def test_what_is_no_store():
    with pytest.raises(UsageError, match="kept in a `Store`"):
        StoredSession({}, "!a.end", "s1")
    with pytest.raises(UsageError, match="mode is"):
        StoredSession(MemoryStore(), "!a.end", "s1", mode="maybe")


def test_an_empty_file_is_no_store_to_look_at(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="there is no store at"):
        open_store(str(tmp_path / "empty"), create=False)
    assert not (tmp_path / "empty").stat().st_size
    open_store(str(tmp_path / "empty")).close()
    open_store(str(tmp_path / "empty"), create=False).close()
