"""The wrappers around a session in a store."""

from __future__ import annotations

from accord import MemoryStore, StoredSession, ToolCall, ToolMiddleware


def test_tools_of_a_stored_session():
    store = MemoryStore()
    contract = "?pay.!pay.end"
    first = ToolMiddleware(StoredSession(store, contract, "s"), {"pay": lambda: "paid"})
    assert first.execute(ToolCall("pay")).result == "paid"
    second = ToolMiddleware(StoredSession(store, contract, "s"), {"pay": lambda: "paid"})
    assert second.execute(ToolCall("pay")).error is not None
    assert store.verify("s").entries == 4
