"""The byte code of the lines that must happen whole: nothing in it can let other code run.

Such a line, a *stretch*, holds several statements, and no other line of accord does, as ruff complains about each that
is not marked (E701, E702). So all of them are found in the source, wherever they are. What may stand in one is listed
here, opcode by opcode and for each version of CPython that was looked at; whatever is not in the list is an error.
"""

from __future__ import annotations

import ast
import dis
import sys
from pathlib import Path
from types import CodeType, MemberDescriptorType

import pytest

import accord
from accord import Monitor, Session
from accord.integrations.guard.fast_path import FastPath
from accord.integrations.guard.handles import Handle
from accord.machine.collection import _Shared
from accord.machine.stages import Stage
from accord.monitor.careful import CarefulMonitor
from accord.monitor.step import Aside
from accord.session.crew import Joint
from accord.session.judging import Apart

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython", reason="reads CPython byte code")

SOURCE = Path(accord.__file__).parent

EVERYWHERE = {
    "LOAD_FAST": "a local name",
    "LOAD_DEREF": "a name of the function around",
    "LOAD_CONST": "a constant",
    "LOAD_GLOBAL": "a name of the module: a look-up in a dict by a text",
    "STORE_FAST": "a local name; what it held before is nothing or a bool, so nothing is finalised",
    "COPY": "the stack only",
    "SWAP": "the stack only",
    "LOAD_ATTR": "a slot: a pointer is read",
    "STORE_ATTR": "a slot: a pointer is written, then what stood there is let go of, which is accord's own and has no "
    "finalizer",
    "BINARY_SUBSCR": "a dict by a text or a tuple by a number, neither of a derived class: nothing is allocated but "
    "the KeyError, and then nothing is written",
    "BINARY_OP +=": "a list by a tuple: the list may move, its room is no object of the collector",
    "IS_OP": "two pointers",
    "JUMP_FORWARD": "only a jump backward looks at signals and other threads",
    "RETURN_VALUE": "everything is written",
}
"""What may stand in a stretch, and why no other code runs there: no thread, no signal, no collection, no finalizer."""

OF_VERSION = {
    (3, 11): {
        "POP_JUMP_FORWARD_IF_FALSE": "forward, by a bool",
        "POP_JUMP_FORWARD_IF_NONE": "forward, by a pointer",
        "POP_JUMP_FORWARD_IF_NOT_NONE": "forward, by a pointer",
    },
    (3, 12): {
        "POP_JUMP_IF_FALSE": "forward, by a bool; a jump backward is an opcode of its own",
        "POP_JUMP_IF_NONE": "forward, by a pointer",
        "POP_JUMP_IF_NOT_NONE": "forward, by a pointer",
        "RETURN_CONST": "everything is written",
    },
    (3, 13): {
        "TO_BOOL": "of a bool",
        "POP_JUMP_IF_FALSE": "forward, by a bool; a jump backward is an opcode of its own",
        "POP_JUMP_IF_NONE": "forward, by a pointer",
        "POP_JUMP_IF_NOT_NONE": "forward, by a pointer",
        "RETURN_CONST": "everything is written",
        "LOAD_FAST_LOAD_FAST": "two local names",
        "STORE_FAST_LOAD_FAST": "two local names, as for STORE_FAST",
    },
}

OF_COLLECTIONS = {
    "COMPARE_OP ==": "two integers",
    "COMPARE_OP bool(==)": "two integers, as CPython 3.13 writes it",
    "BINARY_OP +": "two integers; numbers are no objects of the collector",
    "STORE_SUBSCR": "a dict by a frozen value, whose hash and equality are C; its room is no object of the collector",
}
"""What may stand in that of `Collection`, whose operands are known, and in no other."""

STRETCHES = {
    "Collection._with": 1,
    "CarefulMonitor.receive": 1,
    "CarefulMonitor.send": 1,
    "FastPath.close": 1,
    "FastPath.end": 1,
    "FastPath.go": 1,
    "MemoryHome._take_over": 1,
    "Monitor._attempt": 1,
    "Monitor.close": 1,
    "Monitor.receive": 1,
    "Monitor.reset": 1,
    "Monitor.send": 1,
    "Monitor.tick": 1,
    "Session._attempt": 1,
    "Session.close": 1,
    "Session.observe": 1,
    "Session.tick": 1,
    "_by_label.<locals>.guarded": 3,
}


def functions(code: CodeType):
    """A piece of code and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from functions(constant)


def lines_of(code: CodeType) -> dict[int, list[dis.Instruction]]:
    """The instructions of each source line."""
    lines: dict[int, list[dis.Instruction]] = {}
    for instruction in dis.get_instructions(code):
        if instruction.positions and instruction.positions.lineno:
            lines.setdefault(instruction.positions.lineno, []).append(instruction)
    return lines


def stretches(source: str) -> list[tuple[str, list[dis.Instruction]]]:
    """Each line that holds several statements, by the function it stands in."""
    begun: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            begun.setdefault(node.lineno, []).append(node)
    # `def overload(…): ...` is no such line.
    defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    several = {line for line, found in begun.items() if len(found) > 1 and not isinstance(found[0], defining)}
    return [
        (code.co_qualname, instructions)
        for code in functions(compile(source, "", "exec"))
        for line, instructions in lines_of(code).items()
        if line in several
    ]


def named(instruction: dis.Instruction) -> str:
    """An opcode as the lists name it: operators are told apart."""
    told_apart = instruction.opname in {"BINARY_OP", "COMPARE_OP"}
    return f"{instruction.opname} {instruction.argrepr}" if told_apart else instruction.opname


def strange(name: str, instructions: list[dis.Instruction]) -> set[str]:
    """What may not stand in the stretch of this function."""
    version = sys.version_info[:2]
    if version not in OF_VERSION:
        pytest.fail(f"nobody has looked at what CPython {version} does in a stretch: read its opcodes and list them")
    allowed = {*EVERYWHERE, *OF_VERSION[version], *(OF_COLLECTIONS if name == "Collection._with" else ())}
    return {named(instruction) for instruction in behind_the_tool(name, instructions)} - allowed


def behind_the_tool(name: str, instructions: list[dis.Instruction]) -> list[dis.Instruction]:
    """The stretch of a line that begins with the call of a tool, which runs what it likes: what is done after that."""
    calls = [place for place, each in enumerate(instructions) if each.opname == "CALL_FUNCTION_EX"]
    return instructions[calls[0] + 1 :] if calls and name == "_by_label.<locals>.guarded" else instructions


def attributes(instructions: list[dis.Instruction], opname: str) -> set[str]:
    return {instruction.argval for instruction in instructions if instruction.opname == opname}


TEXTS = (file.read_text(encoding="utf-8") for file in sorted(SOURCE.rglob("*.py")))
ALL = [each for text in TEXTS if "noqa: E" in text for each in stretches(text)]


def test_all_stretches_are_found():
    found = [name for name, _ in ALL]
    assert {name: found.count(name) for name in found} == STRETCHES


@pytest.mark.parametrize(("name", "instructions"), ALL, ids=[name for name, _ in ALL])
def test_nothing_in_a_stretch_lets_other_code_run(name, instructions):
    assert not strange(name, instructions)
    if name.startswith(("Monitor.", "CarefulMonitor.", "Session.")):
        assert "_at" in attributes(instructions, "STORE_ATTR")
        reads = "_at" in attributes(instructions, "LOAD_ATTR")
        assert reads or name == "Monitor.reset", "what is written depends on what is read in there"


@pytest.mark.parametrize(
    "line",
    [
        "link = self._at.sends[label]; self._at = follow(link)",
        "word, after = self._at.sends[label]; self._at = after",
        "self._at, self._held = self._at.pair; self._at = 0",
        "if self._at is place: self._trace += [word]; self._at = after",
        "if self._at is place: self._trace += (word,); self._at = after",
        "if self._at == place: self._at = after; self._held = held",
        "if self._at is place: self._at = after; self._held = {}",
        "if self._at in places: self._at = after; self._held = held",
        "while self._at is place: self._at = after; self._held = held",
        "for after in self._at: self._at = after; self._held = held",
        "self._at = after; self._held = f'{after} {word}'",
        "self._at = after; self._trace = self._trace[1:]",
        "self._at = after; del self._held",
        "with self._lock: self._at = after; self._held = held",
        "self._at = after; self._held = lambda: word",
        "self._at = after; self._held -= 1",
        "self._at = after; self._held = -held",
    ],
)
def test_what_lets_other_code_run_is_not_in_the_list(line):
    """Lines that somebody could write, each of which has a call, a loop, an allocation or an unknown operator."""
    source = f"def step(self, label, place, places, after, held, word):\n    {line}\n"
    name, instructions = stretches(source)[0]
    assert strange(name, instructions)


def test_all_parts_of_a_situation_are_read_at_one_moment():
    (line,) = [
        line for line in lines_of(Monitor._situation.__code__).values() if "_at" in attributes(line, "LOAD_ATTR")
    ]
    assert attributes(line, "LOAD_ATTR") == {"_at", "_held"}
    assert not strange("Monitor._situation", line)


def test_every_attribute_in_a_stretch_is_a_slot():
    """Were one a property, reading it would be a call."""
    places = (Monitor, CarefulMonitor, Session, FastPath, Handle, Stage, Aside, Joint, Apart, _Shared)
    used = {name for _, line in ALL for opname in ("LOAD_ATTR", "STORE_ATTR") for name in attributes(line, opname)}
    used.remove("_here")  # of `MemoryHome`, which is no slot, and is written under its lock
    kinds = {name: {type(getattr(place, name)) for place in places if hasattr(place, name)} for name in used}
    assert kinds == {name: {MemberDescriptorType} for name in used}


def test_links_are_plain_dicts_of_plain_tuples():
    """One of a derived class could run code when it is asked."""
    monitor = Monitor("rec X.!a.?b.X", mode="refuse")
    start = monitor._at
    for _ in range(2):
        monitor.send("a")
        middle = monitor._at
        monitor.receive("b")
        monitor.send("nonsense")
    links = [start.sends, middle.receives, Aside(start, "running").sends, Aside(start, "running").receives]
    assert [type(each) for each in links] == [dict] * 4
    assert [type(each) for links_of in links for each in links_of.values()] == [tuple] * 2
    assert [type(word) for links_of in links for word, _ in links_of.values()] == [tuple] * 2
