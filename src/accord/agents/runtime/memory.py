"""The persistent fields of an agent, at rest in a store.

They stand under the key `agent:NAME`, sealed like a session, with a ledger in which each change is noted. The store is
asked once when a life begins and once for each change.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from accord.agents.persistence import keep_fields, persistent_fields, put_fields, read_fields
from accord.errors import CorruptSessionError, StoreError
from accord.ledger.entries import BEFORE_FIRST, begin_fields, note_fields
from accord.ledger.linking import link
from accord.stores.record import Record, check_name, read, write
from accord.stores.store import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.agents.declaring import Declaration
    from accord.stores.record import Row
    from accord.stores.store import Store

__all__ = ["Memory"]


class _Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="accord.agent"):
    """What stands where a session would say where it is; so neither can be taken for the other."""

    fields: msgspec.Raw


class Memory:
    """What an agent of a name remembers from life to life."""

    def __init__(
        self, store: Store, name: str, declaration: Declaration, loss: Callable[[], StoreError | None]
    ) -> None:
        self._store = store
        self._loss = loss
        """Why the agent may live elsewhere by now, and has no say in what is kept."""
        self._key = check_name(f"agent:{name}")
        self._contract = declaration.roles[0].contract.digest
        self._protocol = declaration.roles[0].protocol
        self._row: Row | None = None
        self._kept = b""

    def recall(self, agent: object) -> None:
        """Give a new agent what was kept."""
        self._row = self._store.row(self._key)
        if self._row is not None:
            record = read(self._key, self._row, self._store.secret)
            try:
                self._kept = bytes(msgspec.json.decode(record.session, type=_Kept).fields)
                fields = msgspec.json.decode(self._kept, type=dict[str, msgspec.Raw])
            except msgspec.MsgspecError:
                raise CorruptSessionError(f"session `{self._key}` holds no fields of an agent") from None
            put_fields(agent, fields)
        keep_fields(agent, self.save)

    def save(self, agent: object) -> None:
        """Keep what has changed. Raises `StoreError` if it cannot be kept, or if somebody else keeps fields there."""
        fields = read_fields(agent)
        if fields == self._kept or not persistent_fields(type(agent)):
            return
        loss = self._loss()
        if loss is not None:
            raise loss
        row: Row | None = None

        def judge(there: Row | None) -> Change:
            nonlocal row
            if there != self._row:
                raise StoreError(f"the fields of `{self._key}` were changed by somebody else")
            change = self._changed(there, fields)
            row = change.row
            return change

        self._store.exchange(self._key, self._row, judge)
        self._row, self._kept = row, fields

    def _changed(self, there: Row | None, fields: bytes) -> Change:
        secret = self._store.secret
        before = None if there is None else read(self._key, there, secret)
        first, last = (0, BEFORE_FIRST) if before is None else (before.version + 1, before.head)
        values = msgspec.json.decode(fields)
        entries = [note_fields(self._key, self._contract, self._protocol, "fields kept", values)]
        if before is None:
            entries.insert(0, begin_fields(secrets.token_hex(16), keyed=secret is not None))
        lines = []
        for number, entry in enumerate(entries, first):
            line, last = link(entry, number, last, secret)
            lines.append(line)
        record = Record(
            key=self._key,
            version=first + len(lines) - 1,
            head=last,
            contract=self._contract,
            protocol=self._protocol,
            mode="refuse",
            status="running",
            events=0 if before is None else before.events,
            expires=None,
            session=msgspec.Raw(msgspec.json.encode(_Kept(msgspec.Raw(fields)))),
        )
        return Change(write(record, secret), first, tuple(lines))
