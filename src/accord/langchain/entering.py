"""What a tool is entered with. INVARIANT: it is what was judged, whatever stands between us and the tool.

A middleware behind ours can put other arguments, or another tool, in the place of what we have passed on. LangChain
tells callbacks of a tool before its function is entered, however it was called. So while a call runs that was reserved,
a callback of ours is there, and raises if what is about to be entered is not that call. What a tool calls in its turn
is its own business.

Whoever runs a tool in a thread of its own, without the context of LangChain, is not seen.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from accord.errors import NotDone
from accord.langchain.arguments import differs
from accord.monitor.wording import quote_text
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextvars import Token
    from uuid import UUID

    from langchain_core.tools import BaseTool

__all__ = ["Entry", "Instead", "refuse_around"]


class Instead(NamedTuple):
    """What was about to be entered in the place of a call."""

    name: str
    arguments: Mapping[str, Any]


class Entry:
    """The one call that may enter a tool; a context in which no other does."""

    def __init__(self, name: str, arguments: Mapping[str, Any], tool: BaseTool | None) -> None:
        self.name = name
        self.has_run = False
        self.instead: Instead | None = None
        """What was turned away here."""
        self.is_refused = False
        """Whether another middleware of ours, behind this one, has refused the call."""
        self._judged = _kept(arguments)
        self._tool = tool
        self._token: Token[_Watch | None] | None = None

    @property
    def kept_out(self) -> bool:
        """Whether nothing was let in, because it was not what was judged."""
        return not self.has_run and (self.is_refused or self.instead is not None)

    def __enter__(self) -> Self:
        around = _HERE.get()
        self._token = _HERE.set(_Watch([self, *(() if around is None else around.entries)]))
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _HERE.reset(self._token)

    def lets_in(self, given: Instead) -> bool:
        """Whether this is what was judged. What the graph adds, or takes from models, makes no difference."""
        judged, arguments = self._judged, given.arguments
        if arguments.keys() != judged.keys():
            hidden = {name for name in arguments.keys() ^ judged.keys() if not self._sees(name)}
            arguments = {name: value for name, value in arguments.items() if name not in hidden}
            judged = {name: value for name, value in judged.items() if name not in hidden}
        return given.name == self.name and differs(judged, arguments) is None

    def _sees(self, argument: str) -> bool:
        """Whether a model can say what this argument is."""
        return self._tool is None or isinstance(self._tool.args_schema, dict) or argument in self._tool.args


class _Watch(BaseCallbackHandler):
    """Tells the entries of all middlewares of ours around a tool what is about to enter it."""

    raise_error = True
    run_inline = True

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._inside: set[UUID] = set()

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,  # noqa: ARG002 - as LangChain calls it
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **_: Any,  # noqa: ANN401 - the same
    ) -> None:
        """A tool is about to be entered: `NotDone` if it is not what was judged, and then by nobody."""
        given = Instead(str((serialized or {}).get("name")), inputs or {})
        wrong = next((entry for entry in self.entries if not entry.lets_in(given)), None)
        for entry in self.entries:
            if wrong is None:
                entry.has_run = True
            else:
                entry.instead = given
        if wrong is not None:
            raise NotDone(f"{quote_text(wrong.name)} was changed after it was decided about, so it was not run")
        self._inside.add(run_id)
        _HERE.set(None)

    def on_tool_end(self, output: object, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401, ARG002 - the same
        """The tool has returned."""
        self._leave(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401, ARG002 - the same
        """The tool has failed."""
        self._leave(run_id)

    def _leave(self, run_id: UUID) -> None:
        if run_id in self._inside:
            self._inside.discard(run_id)
            _HERE.set(self)


_HERE: ContextVar[_Watch | None] = ContextVar("accord_entry", default=None)
register_configure_hook(_HERE, inheritable=False)


def refuse_around() -> None:
    """Tell the middlewares of ours around a call that it was refused here, so that it has not happened for them."""
    around = _HERE.get()
    for entry in () if around is None else around.entries:
        entry.is_refused = True


def _kept(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that nobody else has."""
    if not any(isinstance(value, dict | list) for value in arguments.values()):
        return dict(arguments)
    try:
        return plainly(arguments)
    except NotPlainError:
        return dict(arguments)
