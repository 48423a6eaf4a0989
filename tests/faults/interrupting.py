"""Interrupts at every point at which CPython may raise one, each in a run of its own.

An interrupt (a signal's handler, an exception injected by another thread) comes where a function begins or goes on,
after a call of what is written in C, and where a loop begins again; see `accord.monitor.atomicity`. A trace function
raises at exactly these points of the code of accord, counted from the beginning of a run.
"""

from __future__ import annotations

import contextlib
import dis
import sys
from pathlib import Path

import accord

__all__ = ["Interrupt"]

INSIDE = str(Path(accord.__file__).parent)
_NAMES: dict[object, bytes] = {}


class Interrupt:
    """While inside, the program is interrupted at the point of that number, if it comes to it: then it is `hit`."""

    def __init__(self, point, error=KeyboardInterrupt):
        self.left = point
        self.error = error
        self.hit = None
        self.called = set()

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, kind, *_):
        sys.settrace(self.before)
        return kind is self.error

    def trace(self, frame, _event, _argument):
        self.called.discard(id(frame.f_back))  # what it called was written in Python
        if not frame.f_code.co_filename.startswith(INSIDE):
            if frame.f_code.co_filename == contextlib.__file__:
                self.point(frame)
            return None
        self.point(frame)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self.step

    def step(self, frame, event, _argument):
        if event == "opcode":
            code = frame.f_code
            opcodes = _NAMES.get(code)
            if opcodes is None:
                opcodes = _NAMES[code] = code.co_code
            name = dis.opname[opcodes[frame.f_lasti]]
            if id(frame) in self.called:
                self.called.discard(id(frame))
                self.point(frame)
            if name in {"CALL", "CALL_FUNCTION_EX"}:
                self.called.add(id(frame))
            elif name == "JUMP_BACKWARD":
                self.point(frame)
        else:
            self.called.discard(id(frame))
        return self.step

    def point(self, frame):
        if self.left == 0:
            self.left = -1
            self.hit = f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
            sys.settrace(None)
            raise self.error
        self.left -= 1
