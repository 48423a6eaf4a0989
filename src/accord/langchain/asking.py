"""Asking a person by an interrupt, and what counts as an answer.

A question is shown as plain JSON and says which answers there are. An answer is one of those, in full. Whatever else
comes back (`False`, `"no"`, `True`, a typo) decides nothing: it is asked again, with what was wrong. INVARIANT: there
is no answer by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from accord.diagnostics import did_you_mean
from accord.errors import UsageError
from accord.monitor.wording import quote_text, quote_value
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["APPROVE", "DENY", "MODIFY", "Answer", "Ask", "ProtocolResume", "Question", "read_answer"]

APPROVE, DENY, MODIFY = "approve", "deny", "modify"

NOBODY = "(nobody named)"
"""Who is written down for a step of a state machine from Python if the answer does not say; no person is called so."""

_KNOWN = ("event_label", "by", "reason", "payload", "review")


class _Decided(TypedDict):
    """What every answer has."""

    event_label: str


class ProtocolResume(_Decided, total=False):
    """The answer to a question: `Command(resume={"event_label": …})`.

    `event_label` is one of the choices that the question names. `by` says who decides, `reason` why; both are recorded.
    Without `by` it is the `reviewer` of the middleware; if that has none, a contract does not take the answer.
    `payload` comes with `modify`, where it replaces the arguments, and with steps that carry data. `review` may name
    the review that is meant; an answer to another one is refused.
    """

    by: str
    reason: str | None
    payload: dict[str, Any] | None
    review: str | None


class Answer(NamedTuple):
    """What a person has decided."""

    label: str
    by: str
    reason: str | None = None
    payload: Mapping[str, Any] | None = None


class Question(NamedTuple):
    """What a person is asked, as it is shown.

    `gates` are the labels of steps that can be made, `verbs` what else can be answered. `about` is the call, if it is
    about one, and `key` tells it from all other questions: the gate, and the digest of the action. `context` says where
    the session is.
    """

    type: Literal["accord.review", "accord.gate"]
    text: str
    gates: tuple[str, ...]
    verbs: tuple[str, ...]
    about: dict[str, Any] | None = None
    review: str | None = None
    key: tuple[str | None, str] | None = None
    context: Mapping[str, Any] | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """Everything that can be answered."""
        return (*self.gates, *(verb for verb in self.verbs if verb not in self.gates))

    def shown(self, session: str, to: str, error: str | None) -> dict[str, Any]:
        """The value of the interrupt."""
        shown: dict[str, Any] = {
            "type": self.type,
            "session": session,
            "to": to,
            "question": self.text,
            "choices": list(self.choices),
            **(self.context or {}),
        }
        if self.about is not None:
            shown["action"] = self.about
        if self.review is not None:
            shown["review"] = self.review
        if error is not None:
            shown["error"] = error
        return shown


Ask: TypeAlias = "Callable[[Question, str | None], Answer | None]"
"""Given a question, and what was wrong with the last answer to it: the answer, `None` if there is none to be had."""


def read_answer(given: object, question: Question, unnamed: str | None) -> Answer:
    """The answer in a resume value; `UsageError` with the choices if it is none.

    `unnamed` is who has decided if the answer does not say; with `None` it has to.
    """
    try:
        return _read(given, question, unnamed)
    except UsageError as error:
        choices = ", ".join(map(quote_text, question.choices))
        raise UsageError(f"{error}. Nothing was decided; answer with event_label one of {choices}") from None


def _read(given: object, question: Question, unnamed: str | None) -> Answer:
    if type(given) is str and given in question.verbs and given != MODIFY:
        return Answer(given, _person(None, given, unnamed))
    if not isinstance(given, Mapping):
        raise UsageError(f"{_show(given)} is no decision")
    unknown = [key for key in given if key not in _KNOWN]
    if unknown:
        raise UsageError(f"a decision has no key {_show(unknown[0])}")
    label, by, reason = given.get("event_label"), given.get("by"), given.get("reason")
    if type(label) is not str:
        raise UsageError(f"event_label is {_show(label)}")
    if label not in question.choices:
        meant = did_you_mean(label, question.choices)
        hint = f"; did you mean {quote_text(meant)}?" if meant else ""
        raise UsageError(f"there is no choice {_show(label)} here{hint}")
    if by is not None and (type(by) is not str or not by.strip()):
        raise UsageError(f"`by` names the person who decides, got {_show(by)}")
    if reason is not None and type(reason) is not str:
        raise UsageError(f"a reason is a text, got {_show(reason)}")
    review = given.get("review")
    if review is not None and review != question.review:
        raise UsageError(f"this is about the review {question.review}, not {_show(review)}")
    return Answer(label, _person(by, label, unnamed), reason, _payload(given.get("payload")))


def _person(by: str | None, label: str, unnamed: str | None) -> str:
    """Who has decided. INVARIANT: what a person must do is done by somebody with a name."""
    if by is None and unnamed is None:
        raise UsageError(f'{quote_text(label)} does not say who decides; name the person, as in {{"by": "ana"}}')
    return by or unnamed or ""


def _payload(given: object) -> dict[str, Any] | None:
    if given is None:
        return None
    if type(given) is not dict:
        raise UsageError(f"a payload is an object, got {_show(given)}")
    try:
        return plainly(given)
    except NotPlainError as wrong:
        raise UsageError(f"the payload is no JSON: {wrong}") from None


def _show(value: object) -> str:
    return quote_value(value, 60)
