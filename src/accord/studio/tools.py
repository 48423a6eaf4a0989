"""Tools that somebody has already, as a palette of labels: from an MCP manifest, an OpenAPI file or Python code.

What is read is data. Python is parsed and never run.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["tools_in"]

_MOST = 500
_LONGEST = 1_000_000
_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options", "trace"})
_HELP = (
    "a tool list is an MCP manifest (`tools/list`), an OpenAPI file, a list of function schemas, or Python functions"
)

Tool = dict[str, object]


def tools_in(text: str) -> list[Tool]:
    """The tools a text tells of, each with its name, what it does and its fields; `UsageError` if there are none."""
    if len(text) > _LONGEST:
        raise UsageError(f"the file has {len(text):,} characters; {_LONGEST:,} at the most")
    value = _data(text)
    found = list(_python(text)) if value is None else list(_found(value))
    unique = {str(tool["name"]): tool for tool in found if tool["name"]}
    if not unique:
        raise UsageError(f"no tools were found; {_HELP}")
    if len(unique) > _MOST:
        raise UsageError(f"{len(unique)} tools are too many for a palette; {_MOST} at the most")
    return list(unique.values())


def _data(text: str) -> object:
    """The JSON or YAML value of a text; `None` if it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        import yaml  # noqa: PLC0415 - where it is installed
    except ImportError:
        return None
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _found(value: object) -> Iterator[Tool]:
    if isinstance(value, dict) and isinstance(value.get("paths"), dict):
        yield from _openapi(value["paths"])
        return
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]  # a manifest as the server sent it
    entries = value.get("tools", value.get("functions")) if isinstance(value, dict) else value
    for entry in entries if isinstance(entries, list) else []:
        tool = entry.get("function", entry) if isinstance(entry, dict) else None
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            schema = next((tool[key] for key in ("inputSchema", "input_schema", "parameters") if key in tool), None)
            yield _tool(tool["name"], tool.get("description"), _fields(schema))


def _openapi(paths: dict[str, object]) -> Iterator[Tool]:
    for path, item in paths.items():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if str(method).lower() not in _METHODS or not isinstance(operation, dict):
                continue
            name = operation.get("operationId") or f"{str(method).lower()} {path}"
            listed = operation.get("parameters")
            parameters = [p["name"] for p in listed if isinstance(p, dict) and isinstance(p.get("name"), str)] if isinstance(listed, list) else []  # fmt: skip # noqa: E501
            body: object = operation
            for key in ("requestBody", "content", "application/json", "schema"):
                body = body.get(key) if isinstance(body, dict) else None
            yield _tool(str(name), operation.get("summary"), [*parameters, *_fields(body)])


def _fields(schema: object) -> list[str]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return [str(name) for name in properties] if isinstance(properties, dict) else []


def _tool(name: str, about: object, fields: list[str]) -> Tool:
    summary = about.strip().partition("\n")[0] if isinstance(about, str) else ""
    return {"name": name, "about": summary, "fields": fields}


def _python(text: str) -> Iterator[Tool]:
    """Functions of a module; those in a list called `tools`, where there is one."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"the file can be read neither as JSON nor as Python; {_HELP}") from None
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    listed: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Tuple | ast.Dict):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id.lower() == "tools" for target in targets):
                inside = node.value.values if isinstance(node.value, ast.Dict) else node.value.elts
                listed = [element.id for element in inside if isinstance(element, ast.Name)]
    for name in listed or [name for name in functions if not name.startswith("_")]:
        function = functions.get(name)
        if function is None:
            yield _tool(name, "", [])
            continue
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        fields = [argument.arg for argument in arguments if argument.arg not in {"self", "cls"}]
        yield _tool(name, ast.get_docstring(function), fields)
