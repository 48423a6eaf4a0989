"""`MonitoredClient`: the call of a model, as two events of a session.

The request is sent in the contract's sense before the model is called, so of two threads that may make one request
between them only one calls the model. That raises a question the contract does not answer: what if the call fails?
A request that was accepted and has no accepted answer is *left open*. Calling again is that request again, which the
monitor has judged, and nothing is used up. INVARIANT: this holds only as long as the session stands exactly where the
request left it, and the contract cannot tell the new arguments from the old ones. Everything else is judged anew.

In the agent's view a call of the model is no event. What is new in the conversation is: what the user says in the
request, and what the agent says in the response. Text that does not fit is recorded and stops nobody.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import isawaitable
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.errors import UsageError, ViolationError
from accord.integrations import payloads
from accord.integrations.exchange import LLMResponse, ToolCall
from accord.integrations.session import Receipt, check_session, projection_for, tell
from accord.ledger.represent import own_copy
from accord.monitor import Ok, Unrecognized
from accord.monitor.events import make_event
from accord.monitor.step import step
from accord.projection.bodies import as_text
from accord.projection.happenings import Happening
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.integrations.session import Session, View
    from accord.monitor import Verdict
    from accord.monitor.step import Situation
    from accord.projection.projection import Projection

__all__ = ["MonitoredClient"]

SendLabel: TypeAlias = "str | Callable[[dict[str, object]], str]"
ReceiveLabel: TypeAlias = "str | Callable[[LLMResponse], str]"

_PROMPTS = ("prompt", "input")
"""Where requests hold what the user says, if not in `messages`."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that was accepted: from where it led where, and where the session stood when it was left open."""

    label: str
    payload: object
    before: Situation
    after: Situation
    left: Situation


class MonitoredClient:
    """Calls a model if the contract allows it, and passes its response on if the contract allows that.

    `llm_call` is any function that calls a model, and `response_adapter` makes an `LLMResponse` of what it returns. A
    call sends `send_label` and then receives `receive_label`; each is a text, or a function that says it of the keyword
    arguments (a `dict`) and of the response.

    With `view="agent"` there are no such labels. What the user says and what the agent answers are told to the session,
    which must be one that refuses, as far as the contract's events speak of them; each message is told once.

    Any answer of the monitor but `Ok` raises `ProtocolViolationError`. If the call itself fails, its exception passes
    through, and the request may be made again.

    Example:
        >>> from accord import LLMResponse, Monitor, MonitoredClient
        >>> client = MonitoredClient(
        ...     llm_call=lambda prompt: prompt.upper(),
        ...     response_adapter=lambda raw: LLMResponse(content=raw),
        ...     monitor=Monitor("!Request.?Answer.end"),
        ...     send_label="Request",
        ...     receive_label="Answer",
        ... )
        >>> client.call(prompt="hello").content
        'HELLO'
    """

    __slots__ = (
        "_adapter",
        "_heard",
        "_llm_call",
        "_lock",
        "_monitor",
        "_open",
        "_projection",
        "_receive_label",
        "_send_label",
    )

    def __init__(
        self,
        llm_call: Callable[..., Any],
        response_adapter: Callable[[Any], LLMResponse],
        monitor: Session,
        send_label: SendLabel | None = None,
        receive_label: ReceiveLabel | None = None,
        *,
        view: View = "program",
    ) -> None:
        check_session(monitor)
        if not callable(llm_call) or not callable(response_adapter):
            raise UsageError("`llm_call` and `response_adapter` are functions")
        projection = projection_for(monitor, view, send_label=send_label, receive_label=receive_label)
        for which, label in (
            (("send_label", send_label), ("receive_label", receive_label)) if projection is None else ()
        ):
            if not isinstance(label, str) and not callable(label):
                raise UsageError(f"`{which}` is a `str` or a function, got `{type(label).__name__}`")
        if projection is not None and monitor.mode != "refuse":
            raise UsageError('text stops nobody, so the agent\'s view needs a session with `mode="refuse"`')
        self._llm_call = llm_call
        self._adapter = response_adapter
        self._monitor = monitor
        self._projection = projection
        self._send_label = send_label
        self._receive_label = receive_label
        self._heard = 0
        self._open: _Request | None = None
        self._lock = RLock()

    @property
    def monitor(self) -> Session:
        """The session it belongs to."""
        return self._monitor

    def call(self, *args: Any, **kwargs: Any) -> LLMResponse:  # noqa: ANN401 - whatever the model's SDK takes
        """Call the model with these arguments, if that is allowed now."""
        with self._requested(kwargs):
            raw = self._llm_call(*args, **kwargs)
            if isawaitable(raw):
                getattr(raw, "close", lambda: None)()
                raise UsageError("`llm_call` is asynchronous; use `await client.acall(…)`")
            return self._received(raw)

    async def acall(self, *args: Any, **kwargs: Any) -> LLMResponse:  # noqa: ANN401 - whatever the model's SDK takes
        """As `call`, and waits for `llm_call` if it is asynchronous."""
        with self._requested(kwargs):
            raw = self._llm_call(*args, **kwargs)
            if isawaitable(raw):
                raw = await raw
            return self._received(raw)

    @contextmanager
    def _requested(self, arguments: dict[str, object]) -> Iterator[None]:
        """Make the request in the contract's sense; leave it open if what happens inside fails."""
        if self._projection is not None:
            self._hear(self._projection, arguments)
            yield
            return
        request = self._send(_own(arguments))
        try:
            yield
        except BaseException as error:
            if isinstance(error, ViolationError) and isinstance(error.verdict, Unrecognized):
                # Our own unrecognised word has been noted in the session and has not moved it.
                request = replace(request, left=self._monitor.situation)
            with self._lock:
                self._open = request
            raise

    def _send(self, payload: dict[str, object]) -> _Request:
        check_turn(self._lock)
        label = _label("send_label", self._send_label, payload)
        with self._lock:  # of several threads that call again, one repeats the request
            if self._open is not None and self._is_repeated(self._open, label, payload):
                request, self._open = self._open, None
                return replace(request, payload=payload)
        before = self._monitor.situation
        verdict = self._monitor.send(label, payload)
        if not isinstance(verdict, Ok):
            raise refusal(verdict)
        after = self._monitor.situation
        return _Request(label, payload, before, after, after)

    def _is_repeated(self, request: _Request, label: str, payload: dict[str, object]) -> bool:
        """Whether that payload makes the same request once more."""
        try:
            if self._monitor.situation != request.left or label != request.label:
                return False
            if payload == request.payload:
                return True
            event = make_event("!", label, payload, None)
            after, verdict = step(request.before, event, self._monitor.mode, 0)
        except Exception:  # noqa: BLE001 - what cannot be compared is judged anew
            return False
        return isinstance(verdict, Ok) and after == request.after

    def _received(self, raw: object) -> LLMResponse:
        response = self._adapted(raw)
        if self._projection is not None:
            if response.content:
                self._say(self._projection, Happening("agent", value=response.content))
            return response
        label = _label("receive_label", self._receive_label, response)
        verdict = self._monitor.receive(label, payloads.of_calls(response.content, response.tool_calls))
        if not isinstance(verdict, Ok):
            raise refusal(verdict, response)
        return replace(response, receipt=Receipt(self._monitor, label))

    def _adapted(self, raw: object) -> LLMResponse:
        try:
            response = self._adapter(raw)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"`response_adapter` failed: {error!r}") from error
        if not isinstance(response, LLMResponse):
            raise UsageError(f"`response_adapter` makes an `LLMResponse`, got `{type(response).__name__}`")
        calls = response.tool_calls
        if not isinstance(calls, list | tuple) or not all(isinstance(call, ToolCall) for call in calls):
            raise UsageError("`response_adapter` made an `LLMResponse` whose `tool_calls` are no list of `ToolCall`s")
        if response.content is not None and not isinstance(response.content, str):
            raise UsageError("`response_adapter` made an `LLMResponse` whose `content` is neither a `str` nor `None`")
        return replace(response, tool_calls=list(calls))

    # -- the agent's view ----------------------------------------------------------------------------------------------

    def _hear(self, projection: Projection, arguments: dict[str, object]) -> None:
        """What the user says in a request. A conversation is told from its beginning each time: only news count."""
        check_turn(self._lock)
        with self._lock:
            said = list(_said_by_user(arguments))
            news, self._heard = said[self._heard :], max(self._heard, len(said))
            for text in news:
                self._say(projection, Happening("user", value=text))
            for name in _PROMPTS if "messages" not in arguments else ():
                prompt = arguments.get(name)
                if isinstance(prompt, str):
                    self._say(projection, Happening("user", value=prompt))

    def _say(self, projection: Projection, happening: Happening) -> None:
        event = projection.event(happening).event
        if event is not None:
            tell(self._monitor, event)  # whatever the answer is: it is in the session's record, and stops nobody


def _said_by_user(arguments: dict[str, object]) -> Iterator[str]:
    messages = arguments.get("messages")
    for message in messages if isinstance(messages, list | tuple) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            yield as_text(message.get("content"))


def _label(name: str, label: object, what: object) -> str:
    """A label that was given, or what a function says of a request or a response."""
    if isinstance(label, str):
        return label
    try:
        given = label(what)  # type: ignore[operator] # looked at when it was given
    except Exception as error:
        raise UsageError(f"`{name}` failed: {error!r}") from error
    if not isinstance(given, str):
        raise UsageError(f"`{name}` gives a `str`, got `{type(given).__name__}`")
    return given


def refusal(verdict: Verdict, response: LLMResponse | None = None) -> ViolationError:
    """The error for an answer that is not `Ok`."""
    explain = getattr(verdict, "explain", None)
    message = explain() if explain is not None else f"the monitor gave no verdict but {verdict!r}"
    return ViolationError(message, verdict, response=response)


def _own(arguments: dict[str, object]) -> dict[str, object]:
    """The arguments as they are now, whatever becomes of them while the model answers."""
    try:
        return own_copy(arguments)  # type: ignore[return-value] # a `dict` stays one
    except Exception:  # noqa: BLE001 - it cannot be copied, so it is judged as it is
        return arguments
