"""Python code around a contract, for each way to run one.

A snippet is a module that can be saved and imported as it is: the contract stands in it, and every tool that the
contract calls has a function to be filled in. Those for a model's SDK leave the model to the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.events import Named
from accord.language.labels import is_name
from accord.monitor.verdicts import UNRECOGNIZED
from accord.projection.labels import labeller_of
from accord.projection.projection import projection_of
from accord.studio.code_texts import contract_literal, module
from accord.studio.contracts import actions_in
from accord.studio.role_snippets import ROLE_KINDS, role_snippet

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.machine.contract import Contract
    from accord.studio.requests import Snippet

__all__ = ["KINDS", "snippet"]

KINDS = {
    "monitor": "Monitor: ask before acting, in any program",
    "guard": "Guard: between an agent and its tools",
    "store": "Stored session: survives restarts, shared by workers",
    "ledger": "Ledger: evidence of every attempt",
    "openai": "OpenAI: the loop around chat completions",
    "anthropic": "Anthropic: the loop around messages",
    "langchain": "LangChain: middleware of an agent",
    "langfuse": "Langfuse: every attempt as an observation",
    "opentelemetry": "OpenTelemetry: spans and metrics of a guard",
}
"""Every kind of snippet, and what it is for."""


def snippet(contract: Contract, request: Snippet) -> str:
    """The code of that kind; `UsageError` if there is none, or none for this contract."""
    kind = request.kind
    if kind in ROLE_KINDS:
        return role_snippet(contract, kind, request.protocol, request.role)
    if kind not in KINDS:
        raise UsageError(f"there is no snippet `{kind}`; there are {', '.join((*KINDS, *ROLE_KINDS))}")
    if contract.document.globals and not contract.machines:
        raise UsageError(f"the protocol is between roles; for those there are {', '.join(ROLE_KINDS)}")
    return _MAKERS[kind](_Parts(contract))


class _Parts:
    """What all snippets are made of."""

    def __init__(self, contract: Contract) -> None:
        names = [name for name in contract.machines if name is not None]
        self.contract = contract_literal(contract.document.source.text)
        self.protocol = f", protocol={names[0]!r}" if len(contract.machines) > 1 else ""
        self.timed = contract.stages(names[0] if len(contract.machines) > 1 else None).is_timed
        self.at = ", at=time.monotonic()" if self.timed else ""
        self.clock = "import time\n\n" if self.timed else ""
        self.tools = _tools_called(contract)
        reported = _reported(contract, names[0] if len(contract.machines) > 1 else None, set(self.tools))
        self.events = f", events={reported!r}" if reported else ""

    def functions(self) -> str:
        """A function for each tool, to be filled in."""
        parts = []
        for label, name in self.tools.items():
            parts.append(
                f"def {name}(**arguments: object) -> dict[str, object]:\n"
                f'    """Replace this by the tool {_comment(label)}."""\n'
                f"    return {{}}\n"
            )
        return "\n\n".join(parts)

    def table(self) -> str:
        """The tools by the names that models call them by."""
        return "{" + ", ".join(f"{label!r}: {name}" for label, name in self.tools.items()) + "}"


def _comment(label: str) -> str:
    return ascii(label)[1:-1].replace('"', "'").replace("\\", "/")


def _tools_called(contract: Contract) -> dict[str, str]:
    """What the agent does, by label, each with a name that Python takes."""
    sent = [
        action.label
        for declaration in contract.document.declarations
        for action in actions_in(declaration.body)
        if action.direction == "!"
    ]
    sent += [pattern.label for rule in contract.rules.machines for pattern in rule.patterns if pattern.direction != "?" and not pattern.gated]  # fmt: skip # noqa: E501
    lines = labeller_of(contract).lines
    if lines is not None:  # models call tools, and the events say which label that is
        origins = [line.origin for line in lines]
        sent = [
            name for origin in origins if isinstance(origin, Named) and origin.kind == "call" for name in origin.names
        ]
    names: dict[str, str] = {}
    for label in dict.fromkeys(sent):
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in label).strip("_").lower()
        name = f"{plain}_tool" if plain and is_name(plain) else "tool"
        while name in names.values():
            name += "_"
        names[label] = name
    return names or {"tool": "any_tool"}


def _reported(contract: Contract, protocol: str | None, tools: set[str]) -> list[str]:
    """The events that the program has to report: what is no tool's, and what nobody is asked for."""
    projection = projection_of(contract, protocol)
    if projection.labeller.lines is not None:
        return sorted(projection.reported)
    gated = {symbol.label for machine in contract.machines.values() for symbol in machine.symbols if symbol.gated}
    gated |= {pattern.label for rule in contract.rules.machines for pattern in rule.patterns if pattern.gated}
    return sorted({label for _, label in projection.spoken} - tools - gated - {UNRECOGNIZED})


def _monitor(parts: _Parts) -> str:
    return module(
        f"{parts.clock}from accord import Monitor, Ok",
        parts.contract,
        f'monitor = Monitor(CONTRACT{parts.protocol}, mode="refuse"{parts.at})',
        f'''
def may(label: str, payload: dict[str, object] | None = None) -> str | None:
    """Ask before acting: nothing if it may happen, else what to tell the model."""
    verdict = monitor.send(label, payload{parts.at})
    return None if isinstance(verdict, Ok) else verdict.explain()
''',
        f'''
def came(label: str, payload: dict[str, object] | None = None, by: str | None = None) -> str | None:
    """Something has come back, or a person (`by`) has decided."""
    verdict = monitor.receive(label, payload, by=by{parts.at})
    return None if isinstance(verdict, Ok) else verdict.explain()
''',
    )


def _guard(parts: _Parts) -> str:
    return module(
        "from accord import Guard, ToolCall, ToolResult",
        parts.contract,
        parts.functions(),
        f"guard = Guard(CONTRACT, tools={parts.table()}{parts.protocol}{parts.events})",
        '''
def run(calls: list[ToolCall]) -> list[ToolResult]:
    """Run what the contract allows; `content` of each result is what to tell the model."""
    return guard.run(calls)
''',
    )


def _store(parts: _Parts) -> str:
    return module(
        f"{parts.clock}from pathlib import Path\n\nfrom accord import Ok, SQLiteStore, StoredSession, Verdict",
        parts.contract,
        f'''
def attempt(store: Path, key: str, label: str, payload: dict[str, object] | None = None) -> Verdict:
    """One attempt in the session `key`, atomic among all workers, kept before it is answered."""
    session = StoredSession(SQLiteStore(store), CONTRACT, key{parts.protocol})
    return session.send(label, payload{parts.at})
''',
        '''
def is_allowed(verdict: Verdict) -> bool:
    """Run the tool only then."""
    return isinstance(verdict, Ok)
''',
    )


def _ledger(parts: _Parts) -> str:
    return module(
        f"{parts.clock}from pathlib import Path\n\nfrom accord import FileSink, Ledger, Monitor, RecordedMonitor",
        parts.contract,
        f'''
def recorded(path: Path, session: str) -> RecordedMonitor:
    """A session whose every attempt stands in the ledger before it is answered; `accord verify` looks at it."""
    monitor = Monitor(CONTRACT{parts.protocol}, mode="refuse"{parts.at})
    return RecordedMonitor(monitor, Ledger(FileSink(path)), session=session)
''',
    )


_LOOP_IMPORTS = "from collections.abc import Callable\n\nfrom accord import Guard\n"


def _openai(parts: _Parts) -> str:
    return module(
        f"{_LOOP_IMPORTS}from accord.integrations import adapt_chat_completion",
        parts.contract,
        parts.functions(),
        f"guard = Guard(CONTRACT, tools={parts.table()}{parts.protocol}{parts.events})",
        '''
def converse(create: Callable[..., object], messages: list[dict[str, object]], turns: int = 20) -> str:
    """The loop of an agent; `create` is `openai.OpenAI().chat.completions.create` with model and tools bound to it."""
    for _ in range(turns):
        response = adapt_chat_completion(create(messages=messages))
        messages.append(response.raw.choices[0].message.model_dump(exclude_none=True))
        if not response.has_tool_calls:
            return response.content or ""
        for result in guard.run(response.tool_calls):
            messages.append({"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content})
    return "no answer"
''',
    )


def _anthropic(parts: _Parts) -> str:
    return module(
        f"{_LOOP_IMPORTS}from accord.integrations import adapt_message",
        parts.contract,
        parts.functions(),
        f"guard = Guard(CONTRACT, tools={parts.table()}{parts.protocol}{parts.events})",
        '''
def converse(create: Callable[..., object], messages: list[dict[str, object]], turns: int = 20) -> str:
    """The loop of an agent; `create` is `anthropic.Anthropic().messages.create` with model and tools bound to it."""
    for _ in range(turns):
        response = adapt_message(create(messages=messages))
        messages.append({"role": "assistant", "content": response.raw.content})
        if not response.has_tool_calls:
            return response.content or ""
        results = guard.run(response.tool_calls)
        messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": one.tool_call_id, "content": one.content} for one in results
                ],
            }
        )
    return "no answer"
''',
    )


def _langchain(parts: _Parts) -> str:
    return module(
        "from langchain.agents import create_agent\nfrom langchain_core.tools import StructuredTool\n"
        "from langgraph.checkpoint.memory import InMemorySaver\n\nfrom accord.langchain import AccordMiddleware",
        parts.contract,
        parts.functions(),
        f"""
TOOLS = [
    StructuredTool.from_function(function, name=name, description=function.__doc__)
    for name, function in {parts.table()}.items()
]
""",
        f'''
def make_agent(model: object) -> object:
    """An agent of LangChain under contract; each thread is a session."""
    middleware = AccordMiddleware(CONTRACT{parts.protocol}{parts.events})
    return create_agent(model, TOOLS, middleware=[middleware], checkpointer=InMemorySaver())
''',
    )


def _langfuse(parts: _Parts) -> str:
    name = parts.protocol.replace("protocol=", "name=")
    return module(
        f"{parts.clock}from accord.integrations.langfuse import LangfuseMonitor",
        parts.contract,
        f'''
def observed(langfuse: object) -> LangfuseMonitor:
    """A session whose every attempt is a guardrail observation; `langfuse` is `langfuse.get_client()`."""
    return LangfuseMonitor(CONTRACT, langfuse{name}, mode="refuse"{parts.at})
''',
    )


def _opentelemetry(parts: _Parts) -> str:
    return module(
        "from accord import Guard\nfrom accord.integrations.opentelemetry import OpenTelemetryObserver",
        parts.contract,
        parts.functions(),
        f'''
def watched() -> Guard:
    """A guard whose decisions are spans and metrics, of whatever provider the program has set up."""
    return Guard(CONTRACT, tools={parts.table()}{parts.protocol}{parts.events}, observers=[OpenTelemetryObserver()])
''',
    )


_MAKERS: dict[str, Callable[[_Parts], str]] = {
    "monitor": _monitor,
    "guard": _guard,
    "store": _store,
    "ledger": _ledger,
    "openai": _openai,
    "anthropic": _anthropic,
    "langchain": _langchain,
    "langfuse": _langfuse,
    "opentelemetry": _opentelemetry,
}
