"""Observers are told of everything, and change nothing."""

from __future__ import annotations

import asyncio
import logging

import pytest

from accord import Guard, MemoryStore, ToolCall, UsageError
from accord.integrations.guard.observing import Observer
from accord.integrations.logs import LogObserver


class Told(Observer):
    def __init__(self):
        self.what = []

    def decided(self, watched, decisions, seconds):
        self.what.append(("decided", watched.key, [d.status for d in decisions]))
        assert seconds > 0

    def running(self, _watched, decision):
        self.what.append(("running", decision.call.name))

    def returned(self, _watched, call, verdict, _seconds):
        self.what.append(("returned", call.name, type(verdict).__name__))

    def failed(self, _watched, call, error):
        self.what.append(("failed", call.name, error))


class Broken(Observer):
    def decided(self, *_):
        raise RuntimeError("decided")

    def running(self, *_):
        raise RuntimeError("running")

    def returned(self, *_):
        raise RuntimeError("returned")

    def failed(self, *_):
        raise RuntimeError("failed")


def test_told_in_order():
    told = Told()
    guard = Guard("rec L.{!pay.?pay.L}", store=MemoryStore(), key="s", tools={"pay": lambda: 1}, observers=[told])
    guard.run([ToolCall("pay"), ToolCall("other")])
    expected = [("decided", "s", ["admitted", "refused"]), ("running", "pay"), ("returned", "pay", "Ok")]
    assert told.what == expected


def test_told_by_functions_of_both_kinds():
    told = Told()
    guard = Guard("rec L.{!pay.L, !wait.L}", observers=[told])

    @guard.tool
    def pay():
        raise ValueError("no")

    @guard.tool
    async def wait():
        return 1

    with pytest.raises(ValueError, match="no"):
        pay()
    assert asyncio.run(wait()) == 1
    assert [what[0] for what in told.what] == ["decided", "running", "failed", "decided", "running", "returned"]


def test_a_broken_observer_changes_nothing():
    told = Told()
    guard = Guard("rec L.{!pay.?pay.L}", tools={"pay": lambda: "paid"}, observers=[Broken(), told])
    assert guard.run([ToolCall("pay")])[0].result == "paid"
    assert [what[0] for what in told.what] == ["decided", "running", "returned"]


@pytest.mark.parametrize("observers", [Told(), [object()], "x"])
def test_what_is_no_observer(observers):
    with pytest.raises(UsageError, match="observers"):
        Guard("!pay.end", observers=observers)


def test_records_for_logs(caplog):
    def broken():
        raise ValueError("no account")

    tools = {"pay": lambda amount: amount, "fail": broken}
    guard = Guard("!pay(amount <= 10).!fail.end", tools=tools, observers=[LogObserver()])
    with caplog.at_level(logging.INFO, "accord.guard"):
        guard.run([ToolCall("pay", {"amount": 30}, "c1")])
        guard.run([ToolCall("pay", {"amount": 3}, "c2"), ToolCall("fail", {}, "c3")])
    levels = [(record.levelname, record.accord["status"], record.accord["tool"]) for record in caplog.records]
    assert levels[0] == ("WARNING", "refused", "pay")
    assert ("INFO", "admitted", "pay") in levels
    assert ("INFO", "returned", "pay") in levels
    assert levels[-1] == ("ERROR", "failed", "fail")
    assert "`amount` is 30" in caplog.records[0].getMessage()
    assert caplog.records[0].accord["verdict"] == "violation"


def test_a_call_that_is_let_run_is_logged_with_what_refused_it(caplog):
    tools = {"search": lambda: 1, "book": lambda: 2}
    guard = Guard("!search.!book.end", tools=tools, on_violation="observe", observers=[LogObserver()])
    with caplog.at_level(logging.INFO, "accord.guard"):
        guard.run([ToolCall("book", {}, "c1")])
    told = caplog.records[0]
    assert told.levelname == "WARNING"
    assert told.getMessage().startswith("let run: book: `book` is not allowed yet")
    assert (told.accord["status"], told.accord["verdict"]) == ("admitted", "violation")


def test_a_logger_that_does_not_want_it_costs_no_text(caplog):
    guard = Guard("rec L.{!pay.L}", tools={"pay": lambda: 1}, observers=[LogObserver()])
    with caplog.at_level(logging.ERROR, "accord.guard"):
        guard.run([ToolCall("pay")])
    assert not caplog.records
