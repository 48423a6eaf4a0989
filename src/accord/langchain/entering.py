"""What a tool is entered with. INVARIANT: it is what was judged, whatever stands between us and the tool.

A middleware behind ours can put other arguments, or another tool, in the place of what we have passed on. LangChain
tells callbacks of a tool before its function is entered, however it was called. So while a call runs that was reserved,
a callback of ours is there, and raises if what is about to be entered is not that call. What a tool calls in its turn
is its own business.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from accord.errors import NotDone
from accord.langchain.arguments import differs
from accord.monitor.wording import quote_text
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextvars import Token
    from uuid import UUID

    from langchain_core.tools import BaseTool

__all__ = ["Entry"]

_HERE: ContextVar[Entry | None] = ContextVar("accord_entry", default=None)
register_configure_hook(_HERE, inheritable=False)


class Entry(BaseCallbackHandler):
    """The one call that may enter a tool, as a context in which it runs."""

    raise_error = True
    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_chain = True  # type: ignore[assignment] # of us all
    ignore_retry = ignore_custom_event = True  # type: ignore[assignment] # the same

    def __init__(self, name: str, arguments: Mapping[str, Any], tool: BaseTool | None) -> None:
        self._name = name
        self._judged = _kept(arguments)
        self._tool = tool
        self._entered: set[UUID] = set()
        self._has_run = False
        self._tokens: list[Token[Entry | None]] = []
        self._around: Entry | None = None
        self._turned_away: tuple[str, Mapping[str, Any]] | None = None

    @property
    def turned_away(self) -> tuple[str, Mapping[str, Any]] | None:
        """The tool and the arguments that were about to be entered instead, if nothing was entered; else `None`."""
        return None if self._has_run else self._turned_away

    def __enter__(self) -> Self:
        self._around = _HERE.get()
        self._tokens.append(_HERE.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _HERE.reset(self._tokens.pop())

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, inputs: Any = None, **_: Any
    ) -> None:
        """A tool is about to be entered: `NotDone` if it is another one, or with other arguments."""
        name, given = str((serialized or {}).get("name")), {} if inputs is None else inputs
        wrong = [entry for entry in self._all() if not entry._lets_in(name, given)]
        for entry in self._all():
            entry._has_run |= not wrong
            entry._turned_away = (name, given) if wrong else entry._turned_away
        if wrong:
            raise NotDone(f"{quote_text(wrong[0]._name)} was changed after it was decided about, so it was not run")
        self._entered.add(run_id)
        _HERE.set(None)

    def _all(self) -> Iterator[Entry]:
        """This one, and those of other middlewares of ours around it."""
        entry: Entry | None = self
        while entry is not None:
            yield entry
            entry = entry._around

    def _lets_in(self, name: str, given: Mapping[str, Any]) -> bool:
        """Whether this is what was judged."""
        return name == self._name and not self._differs(given)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002 - as LangChain calls it
        """The tool has returned."""
        self._leave(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002 - the same
        """The tool has failed."""
        self._leave(run_id)

    def _leave(self, run_id: UUID) -> None:
        if run_id in self._entered:
            self._entered.discard(run_id)
            _HERE.set(self)

    def _differs(self, given: Mapping[str, Any]) -> bool:
        """Whether it differs from what was judged; what the graph adds, or takes from models, makes no difference."""
        judged = self._judged
        if given.keys() != judged.keys():
            hidden = {name for name in given.keys() ^ judged.keys() if not self._sees(name)}
            given = {name: value for name, value in given.items() if name not in hidden}
            judged = {name: value for name, value in judged.items() if name not in hidden}
        return differs(judged, given) is not None

    def _sees(self, argument: str) -> bool:
        """Whether a model can say what this argument is."""
        return self._tool is None or isinstance(self._tool.args_schema, dict) or argument in self._tool.args


def _kept(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that nobody else has."""
    if not any(isinstance(value, dict | list) for value in arguments.values()):
        return dict(arguments)
    try:
        return plainly(arguments)
    except NotPlainError:
        return dict(arguments)
