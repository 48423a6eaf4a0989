"""Asking people by an interrupt, and what counts as an answer.

Questions are shown as plain JSON and say which answers there are. An answer is one of those, in full. Whatever else
comes back (`False`, `"no"`, `True`, a typo) decides nothing: it is asked again, with what was wrong. INVARIANT: there
is no answer by default.

LangGraph hands a resume value to whatever interrupt comes next, so a second click arrives as the answer to the next
question. INVARIANT: an answer that names a question counts for that question alone, and one that names none counts
only where there is but one that it can be meant for. What is sent at once is taken as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from accord.diagnostics import did_you_mean
from accord.errors import UsageError
from accord.monitor.wording import quote_text, quote_value
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "APPROVE",
    "DENY",
    "MODIFY",
    "Answer",
    "Ask",
    "Fit",
    "ProtocolDecisions",
    "ProtocolResume",
    "Question",
    "read_answers",
    "show",
]

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
    `payload` comes with `modify`, where it replaces the arguments, and with steps that carry data. `review` names the
    question that is meant; it may be left out where there is only one.
    """

    by: str
    reason: str | None
    payload: dict[str, Any] | None
    review: str | None


class ProtocolDecisions(TypedDict):
    """The answers to several questions, by their ids: `Command(resume={"decisions": {review: {"event_label": …}}})`."""

    decisions: dict[str, ProtocolResume]


class Answer(NamedTuple):
    """What a person has decided."""

    label: str
    by: str
    reason: str | None = None
    payload: Mapping[str, Any] | None = None


class Question(NamedTuple):
    """What a person is asked, as it is shown.

    `review` is the id that an answer names it by. `gates` are the labels of steps that can be made, `verbs` what else
    can be answered. `about` is the call, if it is about one, and `key` says what an answer is good for: the gate, and
    the digest of the action. `context` says where the session is.
    """

    type: Literal["accord.review", "accord.gate"]
    review: str
    text: str
    gates: tuple[str, ...]
    verbs: tuple[str, ...]
    about: dict[str, Any] | None = None
    key: tuple[str | None, str] | None = None
    context: Mapping[str, Any] | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """Everything that can be answered."""
        return (*self.gates, *(verb for verb in self.verbs if verb not in self.gates))

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that can be made with data of one's own; the one that allows a call has the call's."""
        return self.gates if self.type == "accord.gate" else self.gates[1:]

    def shown(self) -> dict[str, Any]:
        """What is particular to it, as JSON."""
        shown: dict[str, Any] = {
            "type": self.type,
            "question": self.text,
            "choices": list(self.choices),
            **(self.context or {}),
            "review": self.review,
        }
        if self.about is not None:
            shown["action"] = self.about
        return shown


Ask: TypeAlias = "Callable[[Sequence[Question], str | None], Mapping[str, Answer]]"
"""Given what is open, and what was wrong with the last answers: some answers, by the ids of their questions.

None at all if there are none to be had.
"""


Fit: TypeAlias = "Callable[[Question, Answer], Answer]"
"""What a person has decided, with data of the right type; `UsageError` if it cannot be that."""


def show(
    questions: Sequence[Question], session: str, to: str, error: str | None, beside: Mapping[str, Any]
) -> dict[str, Any]:
    """The value of an interrupt: one question, or a list of several, and what is shown beside them."""
    about: dict[str, Any] = {"session": session, "to": to, **beside}
    if len(questions) == 1:
        shown = {**questions[0].shown(), **about}
    else:
        text = f"{len(questions)} questions wait for a person. Answer each by its `review`."
        shown = {"type": "accord.reviews", **about, "question": text, "questions": [each.shown() for each in questions]}
    return shown if error is None else {**shown, "error": error}


def read_answers(
    given: object, questions: Sequence[Question], unnamed: str | None, unsaid: str | None, fit: Fit
) -> dict[str, Answer]:
    """The answers in a resume value, by the ids of their questions; `UsageError` with what to answer if it has none.

    `unnamed` is who has decided if an answer does not say; with `None` it has to. `unsaid` says why an answer has to
    name its question; with `None` it need not. `fit` makes what is sent along what it should be, or says why not.
    """
    try:
        if isinstance(given, Mapping) and "decisions" in given:
            return _read_several(given, questions, unnamed, fit)
        question = _meant(given, questions, unsaid)
        return {question.review: fit(question, _read(given, question, unnamed))}
    except UsageError as error:
        stop = "" if str(error).endswith("?") else "."
        raise UsageError(f"{error}{stop} Nothing was decided; {_how(questions)}") from None


def _how(questions: Sequence[Question]) -> str:
    if len(questions) == 1:
        choices = ", ".join(map(quote_text, questions[0].choices))
        return f"answer with event_label one of {choices}"
    return f'answer by id, as in {{"decisions": {{"{questions[0].review}": {{"event_label": …, "by": …}}, …}}}}'


def _read_several(
    given: Mapping[Any, Any], questions: Sequence[Question], unnamed: str | None, fit: Fit
) -> dict[str, Answer]:
    decisions = given["decisions"]
    if len(given) > 1:
        raise UsageError("`decisions` stands alone; who decides, and why, stands in each of them")
    if not isinstance(decisions, Mapping) or not decisions:
        raise UsageError(f"`decisions` has an answer for each id, got {_show(decisions)}")
    answers = {}
    for review, decision in decisions.items():
        question = _named(review, questions)
        if isinstance(decision, Mapping) and decision.get("review") not in (None, review):
            raise UsageError(f"the answer to `{review}` says that it is for {_show(decision['review'])}")
        try:
            answers[question.review] = fit(question, _read(decision, question, unnamed))
        except UsageError as error:
            raise UsageError(f"`{review}`: {error}") from None
    return answers


def _meant(given: object, questions: Sequence[Question], unsaid: str | None) -> Question:
    """The question that an answer is for."""
    review = given.get("review") if isinstance(given, Mapping) else None
    if review is not None:
        return _named(review, questions)
    if unsaid is not None:
        raise UsageError(f"the answer does not say which question it is for, and {unsaid}; name it by `review`")
    return questions[0]


def _named(review: object, questions: Sequence[Question]) -> Question:
    for question in questions:
        if question.review == review:
            return question
    there = ", ".join(f"`{question.review}`" for question in questions)
    why = "it was answered, or what it was about has changed"
    raise UsageError(f"the question {_show(review)} is not open ({why}); open: {there}")


def _read(given: object, question: Question, unnamed: str | None) -> Answer:
    if type(given) is str and given in question.verbs and given != MODIFY:
        return Answer(given, _person(None, given, unnamed))
    if not isinstance(given, Mapping):
        raise UsageError(f"{_show(given)} is no decision")
    unknown = [key for key in given if key not in _KNOWN]
    if unknown:
        meant = did_you_mean(str(unknown[0]), _KNOWN)
        hint = f"; did you mean {quote_text(meant)}?" if meant else ""
        raise UsageError(f"a decision has no key {_show(unknown[0])}{hint}")
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
