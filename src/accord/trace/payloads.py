"""Tool payloads: the arguments of calls, and results, against the schemas of their tools."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from accord.errors import UsageError
from accord.trace.schemas import Schema, SchemaError, compile_schema
from accord.trace.values import pointer
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.trace.boundaries import Handler, Payload
    from accord.trace.config import ToolPayloadsConfig, ToolResultsConfig
    from accord.trace.runs import Report, Run
    from accord.trace.schemas import Complaint

__all__ = ["NO_PAYLOAD", "ToolPayloads"]

NO_PAYLOAD: Payload = {}
"""Stands for a payload that is none, which has been told."""

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "NoneType": "null"}


class _Tool(NamedTuple):
    required: bool
    arguments: Schema | None
    result: Schema | None


class ToolPayloads:
    """The validator of arguments and results."""

    def __init__(self, config: ToolPayloadsConfig, calls: ToolResultsConfig, report: Report) -> None:
        self.config = config
        self.report = report
        self._start_kind = calls.call_start_kind
        self._result_kind = calls.call_result_kind
        self._tool_key = config.tool_key
        self._args_key = config.args_key
        self._tools = {
            name: _Tool(
                tool.required,
                _compiled(tool.args_schema, name, "args_schema"),
                _compiled(tool.result_schema, name, "result_schema"),
            )
            for name, tool in config.tools.items()
        }

    def with_report(self, report: Report) -> ToolPayloads:
        """The same validator, schemas shared, for another trace."""
        other = copy(self)
        other.report = report
        return other

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        found: dict[str, list[Handler]] = {self._start_kind: [self.call]}
        if any(tool.result is not None for tool in self._tools.values()):
            found.setdefault(self._result_kind, []).append(self.result)
        return found

    def call(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool is called."""
        name = payload.get(self._tool_key)
        if type(name) is not str:
            if payload is not NO_PAYLOAD:
                what = "missing" if name is None else f"a `{type(name).__name__}`"
                detail = f"{shown(self._tool_key)} is {what}; a call names its tool"
                self.report.add(run, position, "INVALID_PAYLOAD", seq, self._start_kind, detail, tool_name=None)
            return
        tool = self._tools.get(name)
        if tool is None:
            return
        required, schema, _ = tool
        arguments = payload.get(self._args_key)
        if arguments is None:
            if required:
                detail = f"the call of {shown(name)} carries no {shown(self._args_key)}"
                self.report.add(run, position, "INVALID_PAYLOAD", seq, self._start_kind, detail, tool_name=name)
            return
        if schema is None or ((not schema.wants_object or isinstance(arguments, dict)) and schema.accepts(arguments)):
            return
        for code, detail, context in _judge(schema, arguments, name, "arguments"):
            self.report.add(run, position, code, seq, self._start_kind, detail, tool_name=name, **context)

    def result(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A tool has answered; what failed has no result to look at."""
        name = payload.get(self._tool_key)
        tool = self._tools.get(name) if type(name) is str else None
        schema = None if tool is None else tool.result
        if schema is None or payload.get("ok") is False or "result" not in payload:
            return
        value = payload["result"]
        if schema.accepts(value):
            return
        for _, detail, context in _judge(schema, value, str(name), "result"):
            self.report.add(
                run, position, "INVALID_PAYLOAD", seq, self._result_kind, detail, tool_name=name, **context
            )  # fmt: skip

    def finish(self, run: Run) -> None:
        """Nothing is owed."""

    def open(self, run: Run) -> Iterator[int]:
        """Nothing is ever open."""
        del run
        return iter(())


def _judge(
    schema: Schema,
    value: Any,  # noqa: ANN401 - any JSON
    tool: str,
    what: str,
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What is wrong with a value that its schema does not accept."""
    if schema.wants_object and what == "arguments" and not isinstance(value, dict):
        yield "INVALID_PAYLOAD", f"the arguments of {shown(tool)} are {_article(value)} and no object", {}
        return
    try:
        complaints = list(schema.complaints(value))
    except Exception as error:  # noqa: BLE001 - a value that the library cannot read is no good value
        yield "INVALID_PAYLOAD", f"the {what} of {shown(tool)} cannot be checked: {shown(error)}", {}
        return
    if not complaints:
        yield "INVALID_PAYLOAD", f"the {what} of {shown(tool)} cannot be checked", {}
    for complaint in complaints:
        yield _violation(complaint, tool, what)


def _violation(complaint: Complaint, tool: str, what: str) -> tuple[str, str, dict[str, Any]]:
    path = complaint.path
    if complaint.keyword == "required":
        missing = _name((*path, str(complaint.about)))
        detail = f"the {what} of {shown(tool)} lack {shown(missing)}" if what == "arguments" else complaint.message
        return "TOOL_MISSING_REQUIRED_ARG", detail, {"missing_arg": missing}
    if complaint.keyword == "type" and path:
        expected = [str(name) for name in complaint.about]
        actual = _TYPES.get(type(complaint.value).__name__, "array" if isinstance(complaint.value, list) else "object")
        context = {
            "arg_name": _name(path),
            "expected_type": expected[0] if len(expected) == 1 else sorted(expected),
            "actual_type": actual,
        }
        wanted = " or ".join(sorted(expected))
        detail = f"{shown(_name(path))} of {shown(tool)} is {_article(complaint.value)}; expected {wanted}"
        return "TOOL_INVALID_ARG_TYPE", detail, context
    place = f" at {shown(pointer(path))}" if path else ""
    detail = f"the {what} of {shown(tool)} break their schema{place}: {complaint.message}"
    return "INVALID_PAYLOAD", detail, {"path": pointer(path), "keyword": complaint.keyword}


def _name(path: tuple[str | int, ...]) -> str:
    """The name of an argument; inside of one, a JSON pointer."""
    return str(path[0]) if len(path) == 1 else pointer(path)


def _article(value: object) -> str:
    name = _TYPES.get(type(value).__name__, "array" if isinstance(value, list) else "object")
    return f"{'an' if name[0] in 'aio' else 'a'} {name}"


def _compiled(schema: Any, tool: str, key: str) -> Schema | None:  # noqa: ANN401 - any JSON
    if schema is None:
        return None
    try:
        return compile_schema(schema)
    except SchemaError as error:
        raise UsageError(f"the {key} of the tool {shown(tool)} is no schema: {error}") from None
