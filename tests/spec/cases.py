"""Reads the specification: Markdown in, cases out. The format is described in README.md.

Reading is strict. Whatever is not understood raises `MalformedSpecError`, because a line that is skipped is a test that
cannot fail.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accord import Limits
from accord.monitor.events import read_event

HERE = Path(__file__).parent
SPEC_FILES = sorted(path for path in HERE.glob("*.md") if path.name != "README.md")

VERDICTS = frozenset({"ok", "violation", "unrecognized", "blocked", "misuse"})
VERDICTS_WITH_WORDS = frozenset({"violation", "unrecognized"})
STATUSES = frozenset({"running", "complete", "violated", "incomplete", "unrecognised"})
CONTRACT_BLOCKS = frozenset({"accord", "accord-python"})
CASE_BLOCKS = frozenset({"trace", "trace-python", "errors", "facts", "messages"})


class MalformedSpecError(Exception):
    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")


@dataclass(frozen=True)
class Event:
    direction: str
    label: str
    partner: str | None
    payload_text: str | None = None
    by: str | None = None

    @property
    def payload(self) -> dict[str, object] | None:
        """What the event carries, made anew each time, so that no engine sees what another did to it."""
        return None if self.payload_text is None else json.loads(self.payload_text)


@dataclass(frozen=True)
class Line:
    """One line of a trace. `what` is `event`, `tick`, `end`, `status`, `allowed` or `due`."""

    number: int
    text: str
    what: str
    event: Event | None = None
    verdict: str = ""
    words: tuple[str, ...] = ()
    clause: str | None = None  # `protocol` or `rule "name"`; `None` where the line leaves it open
    at: float | None = None  # the time of an event, a tick or the end; for `due`, when something is due


@dataclass(frozen=True)
class Case:
    file: str
    title: str
    index: int
    line: int
    contract: str
    limits: Limits

    @property
    def id(self) -> str:
        slug = re.sub(r"\W+", "-", self.title).strip("-").lower()
        return f"{self.file.removesuffix('.md')}:{slug}" + (f":{self.index}" if self.index > 1 else "")


@dataclass(frozen=True)
class TraceCase(Case):
    protocol: str | None
    mode: str
    without: frozenset[str]
    lines: tuple[Line, ...]
    start: float | None = None  # the time the session is made with


@dataclass(frozen=True)
class ErrorsCase(Case):
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    number: int
    what: str
    relation: str
    value: str


@dataclass(frozen=True)
class FactsCase(Case):
    protocol: str | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class RawLine:
    """A raw message and what becomes of it, or with the kind `end` what closing answers."""

    number: int
    text: str
    kind: str
    name: str | None = None
    body_text: str | None = None  # JSON
    outcome: str = ""  # `unmatched`, `ignored`, `refused`, or a word
    verdict: str = ""

    @property
    def body(self) -> Any:
        """What the message holds, made anew each time."""
        return None if self.body_text is None else json.loads(self.body_text)


@dataclass(frozen=True)
class MessagesCase(Case):
    protocol: str | None
    lines: tuple[RawLine, ...]


@dataclass
class _Block:
    kind: str
    line: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class _Section:
    title: str
    line: int
    blocks: list[_Block] = field(default_factory=list)


def read_file(path: Path) -> list[Case]:
    return read_text(path.read_text(encoding="utf-8"), path.name)


def read_text(text: str, file: str) -> list[Case]:
    """Every case of one specification file."""
    cases: list[Case] = []
    titles: set[str] = set()
    for section in _sections(text, file):
        if section.title in titles:
            raise MalformedSpecError(file, section.line, f"a second section `{section.title}`")
        titles.add(section.title)
        cases += _cases(section, file)
    if not cases:
        raise MalformedSpecError(file, 1, "no cases")
    return cases


def _sections(text: str, file: str) -> list[_Section]:
    sections: list[_Section] = []
    block: _Block | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if block is not None:
            if line == "```":
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block = _Block(line.removeprefix("```"), number)
            if block.kind not in CONTRACT_BLOCKS | CASE_BLOCKS:
                raise MalformedSpecError(file, number, f"unknown block `{block.kind}`")
            if not sections:
                raise MalformedSpecError(file, number, "a block before the first section")
            sections[-1].blocks.append(block)
        elif line.startswith("## "):
            sections.append(_Section(line.removeprefix("## ").strip(), number))
        elif line.startswith("# ") == (number != 1) or line.startswith(("###", "    ", "~~~")) or "```" in line:
            raise MalformedSpecError(file, number, f"unexpected line `{line}`")
    if block is not None:
        raise MalformedSpecError(file, block.line, "the block is not closed")
    return sections


def _cases(section: _Section, file: str) -> list[Case]:
    contracts = [block for block in section.blocks if block.kind in CONTRACT_BLOCKS]
    if len(contracts) != 1 or section.blocks[0] is not contracts[0]:
        raise MalformedSpecError(file, section.line, "a section starts with one contract")
    if len(section.blocks) < 2:
        raise MalformedSpecError(file, section.line, "the section says nothing about its contract")
    contract = _text_of(contracts[0], file)
    readers = {"errors": _errors, "facts": _facts, "messages": _messages}
    cases: list[Case] = []
    for index, block in enumerate(section.blocks[1:], 1):
        facts: dict[str, Any] = {"file": file, "title": section.title, "index": index, "line": block.line}
        cases.append(readers.get(block.kind, _trace)(block, {**facts, "contract": contract}))
    return cases


# -- expressions -----------------------------------------------------------------------------------------------------

_ALLOWED_NODES = (
    ast.Expression,
    ast.Constant,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.GeneratorExp,
    ast.comprehension,
    ast.Name,
    ast.Load,
    ast.Store,
    ast.BinOp,
    ast.Add,
    ast.Mult,
    ast.Mod,
    ast.Call,
    ast.Attribute,
)


def evaluate(expression: str) -> str:
    """The text an expression stands for. Raises `ValueError` for anything but building strings."""
    tree = ast.parse(expression.strip(), mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED_NODES) or (isinstance(node, ast.Attribute) and node.attr != "join"):
            raise ValueError(f"`{ast.unparse(node)}` is not allowed here")
    value = eval(compile(tree, "<spec>", "eval"), {"__builtins__": {}, "range": range})  # noqa: S307 - checked above
    if not isinstance(value, str):
        raise TypeError("the expression is no text")
    return value


def _text_of(block: _Block, file: str) -> str:
    if not block.kind.endswith("-python"):
        return block.text
    try:
        return evaluate(block.text)
    except (ValueError, TypeError, SyntaxError) as error:
        raise MalformedSpecError(file, block.line, str(error)) from error


# -- lines -----------------------------------------------------------------------------------------------------------

_STRING = r'"(?:[^"\\]|\\.)*"'
_PLAIN_WORD = rf'[^\s"!?]*[!?](?:{_STRING}|[^\s"(){{}}]+)'
_WORD = re.compile(rf'{_PLAIN_WORD}(?:\((?:{_STRING}|[^")])*\))?(?: by human)?(?=\s|\Z)')
_EVENT = re.compile(rf"(?P<word>{_PLAIN_WORD})(?=\s)")
_BY = re.compile(rf"\s+by\s+(?:{_STRING}|[^\s\"]+)(?=\s)")
_CLAUSE = re.compile(rf"\[(protocol|rule {_STRING})\](?=\s|\Z)")
_FACT = re.compile(r"(states|standings) (<=|==) (\d+)\Z|(prints|means|differs) (.+)\Z")
_FINDING = re.compile(r"[EW]\d{3} [1-9]\d*:[1-9]\d*\Z")


def _content(block: _Block, file: str) -> list[tuple[int, str]]:
    lines = _text_of(block, file).split("\n")
    fixed = block.kind.endswith("-python")  # lines of a computed text all count as the block's first
    return [
        (block.line + (1 if fixed else index), line.strip())
        for index, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("//")
    ]


def _limits(headers: dict[str, str], block: _Block, file: str) -> Limits:
    try:
        pairs = [item.split("=") for item in headers.get("limits", "").split()]
        return Limits(**{name: int(value) for name, value in pairs})
    except (TypeError, ValueError) as error:
        raise MalformedSpecError(file, block.line, f"bad limits: {error}") from None


def _headers(lines: list[tuple[int, str]], known: tuple[str, ...], file: str) -> dict[str, str]:
    """Takes the headers off the front of `lines`."""
    headers: dict[str, str] = {}
    while lines:
        number, line = lines[0]
        name, _, value = line.partition(" ")
        if name not in known:
            break
        if name in headers or not value.strip():
            raise MalformedSpecError(file, number, f"bad header `{line}`")
        headers[name] = value.strip()
        lines.pop(0)
    return headers


def _words(text: str) -> list[str]:
    """The words in `text`, which holds nothing else. Raises `ValueError`."""
    words: list[str] = []
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise ValueError(f"`{text[at:]}` starts with no word")
        words.append(match[0])
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return words


def _no_constant(name: str) -> None:
    raise ValueError(f"`{name}` is not JSON")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _event(text: str) -> tuple[Event, str]:
    """The event at the start of a line, `WORD [JSON] [by WHO]`, and the rest of the line. Raises `ValueError`."""
    match = _EVENT.match(text)
    if match is None:
        raise ValueError("neither an event nor `end`, `status` or `allowed`")
    end = match.end()
    payload_text = None
    start = end + len(text[end:]) - len(text[end:].lstrip())
    if text.startswith("{", start):
        _, end = _JSON.raw_decode(text, start)
        payload_text = text[start:end]
    who = _BY.match(text, end)
    if who is not None:
        end = who.end()
    read = read_event(text[:end])
    if read.by is not None and read.direction == "!":
        raise ValueError("nobody makes a step that is sent")
    return Event(read.direction, read.label, read.partner, payload_text, read.by), text[end:].strip()


def _sorted_words(text: str) -> tuple[str, ...]:
    words = _words(text)
    if words != sorted(words):
        raise ValueError("the words are not sorted")
    return tuple(words)


def _time(text: str) -> float:
    """A time in seconds, whole or not, as JSON writes numbers. Raises `ValueError`."""
    value = _JSON.decode(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"`{text}` is no time")  # noqa: TRY004 - a line that cannot be read
    return value


def _trace_line(number: int, text: str) -> Line:
    first, _, rest = text.partition(" ")
    if first == "status":
        if rest not in STATUSES:
            raise ValueError(f"`{rest}` is no status")
        return Line(number, text, "status", verdict=rest)
    if first == "allowed":
        return Line(number, text, "allowed", words=_sorted_words(rest))
    if first == "due":
        return Line(number, text, "due", at=None if rest == "none" else _time(rest))
    at = None
    if first.startswith("@"):
        at, text = _time(first[1:]), rest.strip()
        first, _, rest = text.partition(" ")
    if first == "tick" and at is None:
        raise ValueError("a tick has a time")
    event, rest = (None, rest.strip()) if first in {"end", "tick"} else _event(text)
    verdict, _, words = rest.partition(" ")
    words = words.strip()
    clause = _CLAUSE.match(words) if verdict == "violation" else None
    if clause is not None:
        words = words[clause.end() :].strip()
    if verdict not in VERDICTS or (words and verdict not in VERDICTS_WITH_WORDS):
        raise ValueError(f"`{rest}` is no verdict")
    what = first if event is None else "event"
    return Line(number, text, what, event, verdict, _sorted_words(words), clause and clause[1], at)


def _trace(block: _Block, common: dict[str, Any]) -> TraceCase:
    file = common["file"]
    content = _content(block, file)
    headers = _headers(content, ("mode", "protocol", "limits", "without", "at"), file)
    if headers.get("mode", "halt") not in {"halt", "refuse"}:
        raise MalformedSpecError(file, block.line, f"unknown mode `{headers['mode']}`")
    try:
        start = _time(headers["at"]) if "at" in headers else None
    except ValueError as error:
        raise MalformedSpecError(file, block.line, str(error)) from None
    lines: list[Line] = []
    for number, text in content:
        try:
            lines.append(_trace_line(number, text))
        except ValueError as error:
            raise MalformedSpecError(file, number, f"`{text}`: {error}") from None
    if not lines:
        raise MalformedSpecError(file, block.line, "the trace is empty")
    return TraceCase(
        **common,
        limits=_limits(headers, block, file),
        protocol=headers.get("protocol"),
        mode=headers.get("mode", "halt"),
        start=start,
        without=frozenset(headers.get("without", "").split()),
        lines=tuple(lines),
    )


def _errors(block: _Block, common: dict[str, Any]) -> ErrorsCase:
    file = common["file"]
    content = _content(block, file)
    headers = _headers(content, ("limits",), file)
    findings = [text for _, text in content]
    if findings == ["none"]:
        findings = []
    elif not findings:
        raise MalformedSpecError(file, block.line, "no findings are written `none`")
    for number, text in content:
        if findings and not _FINDING.match(text):
            raise MalformedSpecError(file, number, f"`{text}` is no finding")
    return ErrorsCase(**common, limits=_limits(headers, block, file), findings=tuple(findings))


def _facts(block: _Block, common: dict[str, Any]) -> FactsCase:
    file = common["file"]
    content = _content(block, file)
    headers = _headers(content, ("limits", "protocol"), file)
    facts: list[Fact] = []
    for number, text in content:
        match = _FACT.match(text)
        if match is None:
            raise MalformedSpecError(file, number, f"`{text}` is no fact")
        counted, relation, count, said, value = match.groups()
        facts.append(Fact(number, counted or said, relation or "", count or value))
    if not facts:
        raise MalformedSpecError(file, block.line, "the facts are empty")
    limits = _limits(headers, block, file)
    return FactsCase(**common, limits=limits, protocol=headers.get("protocol"), facts=tuple(facts))


_RAW = re.compile(
    rf"(?P<kind>user says|agent says|call|user call|result of|error of|event) (?P<name>{_STRING}|[\w:-]+)"
)
_OUTCOMES = frozenset({"unmatched", "ignored", "refused"})
_RAW_VERDICTS = VERDICTS - {"misuse", "blocked"}


def _raw_line(number: int, text: str) -> RawLine:
    if text.startswith("end "):
        verdict = text.removeprefix("end ").strip()
        if verdict not in _RAW_VERDICTS:
            raise ValueError(f"`{verdict}` is no verdict")
        return RawLine(number, text, "end", verdict=verdict)
    match = _RAW.match(text)
    if match is None:
        raise ValueError("neither a message nor `end`")
    kind, end = match["kind"].removesuffix(" of").removesuffix(" says"), match.end()
    name = _JSON.decode(match["name"]) if match["name"].startswith('"') else match["name"]
    said = json.dumps(name) if kind in {"user", "agent"} else None
    if said is None and text[end:].lstrip()[:1] in {"{", "[", '"'}:
        start = end + len(text[end:]) - len(text[end:].lstrip())
        _, end = _JSON.raw_decode(text, start)
        said = text[start:end]
    rest = text[end:].strip()
    word = _WORD.match(rest)
    outcome = rest.partition(" ")[0] if word is None else word[0]
    verdict = rest[len(outcome) :].strip()
    if word is None and outcome not in _OUTCOMES:
        raise ValueError(f"`{outcome}` is neither a word nor an outcome")
    if (verdict in _RAW_VERDICTS) == (outcome in _OUTCOMES) or (verdict and verdict not in _RAW_VERDICTS):
        raise ValueError(f"`{verdict}` is no verdict on `{outcome}`")
    return RawLine(number, text, kind, None if kind in {"user", "agent"} else name, said, outcome, verdict)


def _messages(block: _Block, common: dict[str, Any]) -> MessagesCase:
    file = common["file"]
    content = _content(block, file)
    headers = _headers(content, ("limits", "protocol"), file)
    lines: list[RawLine] = []
    for number, text in content:
        try:
            lines.append(_raw_line(number, text))
        except ValueError as error:
            raise MalformedSpecError(file, number, f"`{text}`: {error}") from None
    if not lines:
        raise MalformedSpecError(file, block.line, "there are no messages")
    limits = _limits(headers, block, file)
    return MessagesCase(**common, limits=limits, protocol=headers.get("protocol"), lines=tuple(lines))
