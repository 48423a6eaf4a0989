"""Interrupts and forks: a session in memory is where it was, and there is one of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from linecache import getline

import pytest

from accord import Guard, Monitor, ProtocolViolationError, ToolCall, compile
from accord.integrations.guard import fast_path, functions, homes


def walked(text):
    """The contract after another session has been through it, so that the short way is known."""
    contract = compile(text)
    monitor = Monitor(contract, mode="refuse")
    for label in "abc":
        monitor.send(label)
    return contract


class Interrupted:
    """While inside, the program is interrupted before the line of that number, of those that keep the session."""

    def __init__(self, line):
        self.left = line

    def trace(self, frame, event, _argument):
        if frame.f_code.co_filename not in {fast_path.__file__, functions.__file__, homes.__file__}:
            return None
        # Leaving a `with` and entering a `try` are told as lines too, but no interrupt comes there.
        text = getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not text.startswith(("with ", "try:")):
            if self.left == 0:
                self.left = -1
                raise KeyboardInterrupt
            self.left -= 1
        return self.trace

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)

    def __exit__(self, kind, *_):
        sys.settrace(self.before)
        return kind is KeyboardInterrupt


ACTS = {
    "asking": lambda guard: guard.status,
    "reserving": lambda guard: guard.reserve([ToolCall("nope")]),
    "saying": lambda guard: guard.send("nope"),
}


@pytest.mark.parametrize("act", ACTS)
def test_an_interrupt_anywhere_forgets_no_call(act):
    contract = walked("!a.!b.!c.end")
    for line in range(60):
        ran = []
        guard = Guard(contract, events=["c"])
        a = guard.tool(name="a")(lambda: ran.append("a"))  # noqa: B023 - called in this round
        b = guard.tool(name="b")(lambda: ran.append("b"))  # noqa: B023 - the same
        a()
        interrupt = Interrupted(line)
        with interrupt:
            ACTS[act](guard)
        with pytest.raises(ProtocolViolationError):
            a()
        b()
        assert ran == ["a", "b"]
        assert guard.allowed() == ["!c"]
        if interrupt.left >= 0:
            break  # there is no such line any more
    assert 5 < line < 59


def test_an_interrupt_anywhere_in_a_call_lets_nothing_happen_twice():
    contract = walked("!a.!b.!c.end")
    for line in range(60):
        ran = []
        guard = Guard(contract)
        a = guard.tool(name="a")(lambda: ran.append("a"))  # noqa: B023 - called in this round
        interrupt = Interrupted(line)
        with interrupt:
            a()
        for _ in range(2):
            with suppress(ProtocolViolationError):
                a()
        assert len(ran) <= 1
        if interrupt.left >= 0:
            break
    assert 5 < line < 59


def in_a_child(act):
    """What a forked process makes of it, as text."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(writing, str(act()).encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_no_session():
    """Else what may happen once could happen once on each side."""
    contract = walked("!a.!b.!c.end")
    guard = Guard(contract, tools={"a": lambda: "ran"}, events=["b", "c"])
    a = guard.tool(name="a")(lambda: "ran")
    assert "keep it in a store" in in_a_child(lambda: guard.run([ToolCall("a")])[0].error)
    assert "keep it in a store" in in_a_child(a)
    assert "keep it in a store" in in_a_child(guard.allowed)
    assert a() == "ran"
    assert guard.allowed() == ["!b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_tool_may_fork():
    guard = Guard(walked("!a.!b.!c.end"), events=["b", "c"])
    said = []

    @guard.tool
    def a():
        said.append(in_a_child(lambda: guard.reserve([ToolCall("b")])[0].status))
        return "ran"

    assert a() == "ran"
    assert said == ["refused"]
    assert guard.allowed() == ["!b"]
