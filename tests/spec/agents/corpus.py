"""Reads the corpus: Markdown in, cases out. The format is described in README.md.

Reading is strict: what is not understood raises, because a block that is skipped is a test that cannot fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from accord.diagnostics import Source
from accord.language import parse
from accord.language.field_types import python_type
from accord.language.global_tree import Enumeration, Record

HERE = Path(__file__).parent
FILES = sorted(path for path in HERE.glob("*.md") if path.name != "README.md")

_MARK = re.compile(r"\s*# <- ((?:[EW]\d{3}\s*)+)$")
_IMPORTS = """\
import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal
import accord
from accord.agents import Agent, AgentRef, Crash, PartnerCrashedError, follows, on

"""


@dataclass(frozen=True)
class Case:
    """A Python file, and the codes and lines that must be found in it."""

    file: str
    title: str
    text: str
    expected: tuple[tuple[str, int], ...]
    contract: str
    runs: bool

    @property
    def id(self) -> str:
        return f"{self.file.removesuffix('.md')}:{re.sub(r'[^a-z0-9]+', '-', self.title.lower()).strip('-')}"

    @property
    def source(self) -> Source:
        return Source(self.text, f"{self.id}.py")


def _message_classes(contract: str) -> str:
    document = parse(contract)
    records = {item.name: item for item in document.types if isinstance(item, Record)}
    enums = {item.name: item for item in document.types if isinstance(item, Enumeration)}
    lines = []
    labels = dict.fromkeys([*records, *re.findall(r"->\s*\w+:\s*(\w+)", contract)])
    for label in labels:
        lines += ["@dataclass", f"class {label}:"]
        fields = records[label].fields if label in records else ()
        for field in fields:
            text = python_type(field.type)
            for enum in enums.values():
                text = re.sub(rf"\b{enum.name}\b", f"Literal{list(enum.members)}", text)
            lines.append(f"    {field.name}: {text}")
        lines += ["    pass" if not fields else "", ""]
    return "\n".join(lines)


def prelude(contract: str) -> str:
    """What stands in front of every case of a file."""
    both = "BOTH = accord.compile(CONTRACT)\n" if contract.count("protocol ") > 1 else ""
    return f'{_IMPORTS}CONTRACT = """\n{contract}"""\n{both}\n{_message_classes(contract)}\n'


def _case(file: str, title: str, kind: str, body: str, contract: str) -> Case:
    front = "" if kind == "whole" else prelude(contract)
    lines, expected = [], []
    offset = front.count("\n")
    for number, line in enumerate(body.splitlines(), offset + 1):
        mark = _MARK.search(line)
        if mark is not None:
            expected += [(code, number) for code in mark[1].split()]
            line = line[: mark.start()]  # noqa: PLW2901 - the mark is not a part of the code
        lines.append(line)
    text = front + "\n".join(lines) + "\n"
    runs = not expected and kind == ""
    return Case(file, title, text, tuple(sorted(expected)), contract, runs)


def read(path: Path) -> list[Case]:
    """The cases of a file."""
    parts = re.split(r"^## (.+)$", path.read_text(), flags=re.MULTILINE)
    contracts = re.findall(r"^```accord\n(.*?)^```$", parts[0], re.MULTILINE | re.DOTALL)
    if len(contracts) != 1:
        raise ValueError(f"{path.name} begins with one contract")
    cases = []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        blocks = re.findall(r"^```(.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if len(blocks) != 1 or not re.fullmatch(r"python( whole| alone)?", blocks[0][0]):
            raise ValueError(f"{path.name}: `{title}` has one block of python, got {[kind for kind, _ in blocks]}")
        kind = blocks[0][0].removeprefix("python").strip()
        cases.append(_case(path.name, title, kind, blocks[0][1], contracts[0]))
    return cases


CASES = [case for path in FILES for case in read(path)]
