"""What answers have to look like, as a JSON Schema for whoever draws a form, and as a check of what comes back.

The schema has one variant for each choice. Whatever fits it is taken as an answer, as far as the contract has nothing
against it; of the shorter ways of answering that are taken too (`"approve"`) it says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from accord.diagnostics import did_you_mean
from accord.errors import UsageError
from accord.langchain.asking import APPROVE, MODIFY
from accord.language.labels import normalise
from accord.monitor.wording import quote_text
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from langchain_core.tools import BaseTool

    from accord.langchain.asking import Answer, Question

__all__ = ["Forms"]

_ANY = {"type": "object"}
_LONGEST = 5
"""Mistakes of one payload that are told."""


class Forms:
    """The types of what people may send along with their steps, by labels, and the schemas of tools."""

    def __init__(
        self, types: Mapping[str, Any], steps: Collection[str], tool_of: Callable[[str], BaseTool | None]
    ) -> None:
        self._adapters = {}
        for label, kind in types.items():
            if not isinstance(label, str) or normalise(label) not in steps:
                meant = did_you_mean(label, sorted(steps)) if isinstance(label, str) else None
                hint = f"; did you mean {quote_text(meant)}?" if meant else ""
                raise UsageError(f"`answers` has types for the steps of people; {label!r} is none{hint}")
            self._adapters[normalise(label)] = _adapter(label, kind)
        self._tool_of = tool_of

    # -- the schema ----------------------------------------------------------------------------------------------------

    def schema(self, questions: Sequence[Question], *, says_who: bool, by_id: bool) -> dict[str, Any]:
        """The schema of an answer. `says_who`: it has to say by whom it is; `by_id`: and for which question."""
        if len(questions) == 1:
            return self._of_one(questions[0], says_who=says_who, by_id=by_id)
        decisions = {each.review: self._of_one(each, says_who=says_who, by_id=False) for each in questions}
        answers = {"type": "object", "properties": decisions, "additionalProperties": False, "minProperties": 1}
        return _object({"decisions": answers}, ["decisions"])

    def _of_one(self, question: Question, *, says_who: bool, by_id: bool) -> dict[str, Any]:
        variants = []
        for label in question.choices:
            properties: dict[str, Any] = {
                "event_label": {"const": label},
                "by": {"type": "string", "pattern": r"\S"},
                "reason": {"type": "string"},
                "review": {"const": question.review},
            }
            required = ["event_label", *["by"] * says_who, *["review"] * by_id]
            payload = self._payload(question, label)
            if payload is not None:
                properties["payload"] = payload
                if label == MODIFY or _step_of(question, label) in self._adapters:
                    required.append("payload")
            variants.append({"title": label, **_object(properties, required)})
        return {"oneOf": variants}

    def _payload(self, question: Question, label: str) -> dict[str, Any] | None:
        """The schema of what may be sent along with a choice; `None` if nothing may be."""
        if label == MODIFY and label not in question.gates:
            tool = self._tool_of((question.about or {}).get("tool", ""))
            return _schema_of(tool)
        step = _step_of(question, label)
        if step is None:
            return None
        adapter = self._adapters.get(step)
        return _ANY if adapter is None else adapter.json_schema(mode="validation")

    # -- the check -----------------------------------------------------------------------------------------------------

    def read(self, question: Question, answer: Answer) -> Answer:
        """The answer with what is sent along as its type has it; `UsageError` if it is none of that type."""
        step = _step_of(question, answer.label)
        adapter = None if step is None else self._adapters.get(step)
        if adapter is None:
            return answer
        try:
            value = adapter.validate_python(dict(answer.payload or {}))
            payload = adapter.dump_python(value, mode="json")
            return answer._replace(payload=plainly(payload))
        except ValidationError as error:
            raise UsageError(f"the payload of {quote_text(answer.label)} does not fit: {_mistakes(error)}") from None
        except NotPlainError as wrong:
            raise UsageError(f"the payload of {quote_text(answer.label)} is no JSON: {wrong}") from None


def _step_of(question: Question, label: str) -> str | None:
    """The step that a choice makes with data of its own; `None` if it makes none."""
    if label in question.steps:
        return normalise(label)
    if label == APPROVE and len(question.steps) == 1 and question.type == "accord.gate":
        return normalise(question.steps[0])
    return None


def _adapter(label: str, kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        shape = adapter.json_schema(mode="validation")
    except Exception as error:  # noqa: BLE001 - pydantic says what is wrong with a type in many ways
        raise UsageError(f"`answers[{label!r}]` is no type that pydantic knows: {error}") from None
    if shape.get("type") != "object" and "$ref" not in shape:
        raise UsageError(f"`answers[{label!r}]` is the type of an object, such as a model or a TypedDict, got {kind!r}")
    return adapter


def _schema_of(tool: BaseTool | None) -> dict[str, Any]:
    """The schema of the arguments of a tool, all of which stand in for those of the model: nothing is filled in."""
    schema = None if tool is None else tool.tool_call_schema
    if not isinstance(schema, dict) and (schema is None or not issubclass(schema, BaseModel)):
        return _ANY
    shape = schema if isinstance(schema, dict) else schema.model_json_schema()
    return {**shape, "required": list(shape.get("properties", ())), "additionalProperties": False}


def _object(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _mistakes(error: ValidationError) -> str:
    """What is wrong, place by place; what was given is not repeated."""
    told = [f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in error.errors()]
    more = f"; and {len(told) - _LONGEST} more" if len(told) > _LONGEST else ""
    return "; ".join(told[:_LONGEST]) + more
