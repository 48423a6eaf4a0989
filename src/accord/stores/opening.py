"""`open_store`: a store by its address, for command lines and configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.stores.store import Store

__all__ = ["open_store"]


def open_store(address: str, *, secret: bytes | None = None, create: bool = True) -> Store:
    """The store at an address.

    `sqlite:///folder/file.db` (with a fourth slash if the path is absolute) or a plain path is a SQLite file,
    `postgresql://…` and `redis://…` are what their drivers take, and `memory:` is a new store in memory. Without
    `create` a file must be there already.
    """
    if not isinstance(address, str) or not address:
        raise UsageError(
            f"the address of a store is a path, or begins with `sqlite:`, `postgresql:` or `redis:`, got {address!r}"
        )
    scheme, separator, rest = address.partition(":")
    if separator and scheme in {"postgresql", "postgres"}:
        from accord.stores.postgres import PostgresStore  # noqa: PLC0415 - only who uses it loads it

        return PostgresStore(address, secret=secret)
    if separator and scheme in {"redis", "rediss", "unix"}:
        from accord.stores.redis import RedisStore  # noqa: PLC0415 - only who uses it loads it

        return RedisStore(address, secret=secret)
    if address == "memory:":
        from accord.stores.memory import MemoryStore  # noqa: PLC0415 - only who uses it loads it

        return MemoryStore(secret=secret)
    from accord.stores.sqlite import SQLiteStore  # noqa: PLC0415 - only who uses it loads it

    if separator and scheme == "sqlite":
        if not rest.startswith("///") or rest == "///":
            raise UsageError("the address of a SQLite file is `sqlite:///PATH`, with a fourth slash if it is absolute")
        address = unquote(rest.removeprefix("///"))
    elif separator and rest.startswith("//"):
        raise UsageError(f"no store is known that is reached by `{scheme}:`")
    if not create and (not Path(address).exists() or (Path(address).is_file() and not Path(address).stat().st_size)):
        raise UsageError(f"there is no store at {address}")
    return SQLiteStore(address, secret=secret)
