"""Stores as a command line names them: by an address, in which a password may stand, and with a secret."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import rich_click as click

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.machine.contract import Contract
    from accord.stores import SessionInfo, Store

__all__ = ["check_contract", "find_session", "json_option", "open_at"]


def json_option(function: Callable[..., None]) -> Callable[..., None]:
    """The option that asks for JSON."""
    return click.option("--json", "as_json", is_flag=True, help="print JSON")(function)


def open_at(address: str, key_file: str | None, key_env: str | None) -> Store:
    """The store at an address; it must be there already."""
    from accord.cli.ledger_files import read_key
    from accord.stores import open_store

    if address.startswith("env:"):
        name = address.removeprefix("env:")
        address = os.environ.get(name, "")
        if not address:
            raise UsageError(f"the environment variable `{name}` is not set or empty")
    return open_store(address, secret=read_key(key_file, key_env), create=False)


def find_session(store: Store, key: str) -> SessionInfo:
    """What a list says of one session; `UsageError` if there is none."""
    info = store.session(key)
    if info is None:
        raise UsageError(f"there is no session `{key}`")
    return info


def check_contract(info: SessionInfo, contract: Contract) -> None:
    """`UsageError` if a session is corrupted or was begun under another contract."""
    if info.fault is not None:
        raise UsageError(info.fault)
    if info.contract != contract.digest:
        raise UsageError(f"session `{info.key}` belongs to another contract: it was begun under {info.contract[:19]}…")
