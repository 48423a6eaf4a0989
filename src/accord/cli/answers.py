"""A person's answer to a review: as a command line gives it, or asked for on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from accord.cli.review_lines import action_text
from accord.cli.terminal import open_input, read_live
from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.integrations.guard.reviewing import ANSWERS
from accord.stepping.events import decode_json

if TYPE_CHECKING:
    from accord.cli.terminal import Screen
    from accord.integrations.guard.state import Review

__all__ = ["Answer", "ask", "outcome", "read_answer"]

_LONGEST_PAYLOAD = 1 << 22
_LEAVING = {"quit", "exit"}


class Answer(NamedTuple):
    """One of `allow`, `deny` and `modify`, why, and the payload to use instead."""

    word: str
    reason: str | None
    payload: dict[str, object] | None


def read_answer(
    given: tuple[str, ...], by: str, reason: str | None, payload: str | None, *, may_ask: bool
) -> Answer | None:
    """The answer on a command line; `None` if there is none and somebody can be asked.

    Raises `UsageError` if it cannot be meant.
    """
    for name, text in (("--by", by), ("--reason", reason or "")):
        if not text.isascii() and text.encode("utf-8", "replace").decode() != text:
            raise UsageError(f"`{name}` is no text in UTF-8")
    if not by.strip():
        raise UsageError("`--by` names the person who decides")
    if len(given) > 1:
        raise UsageError(f"one answer is expected, and the contract behind it; got {len(given)} answers")
    if not given:
        if not may_ask:
            raise UsageError("an answer is required here: `allow`, `deny` or `modify`")
        if payload is not None:
            raise UsageError("`--payload` belongs to `modify`")
        return None
    (word,) = given
    if word not in ANSWERS:
        raise UsageError(f"a review is decided by `allow`, `deny` or `modify`, got `{word}`; nothing was decided")
    if (payload is not None) != (word == "modify"):
        raise UsageError("`modify` comes with `--payload`, and nothing else does; nothing was decided")
    return Answer(word, reason, None if payload is None else _read_payload(payload))


def ask(screen: Screen, review: Review, reason: str | None) -> Answer | None:
    """What the person at the terminal says; `None` if they leave."""
    words = ANSWERS if review.gate is not None else ANSWERS[:2]
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    screen.print()
    word = ""
    while word not in words:
        line = read_live(f"{action_text(review)}: {listed}? ")
        if line is None or line.strip() in _LEAVING:
            return None
        word = line.strip()
        if word not in words:
            screen.print(screen.paint("faint", f"type {listed}, or quit to leave it open"))
    payload = None
    while word == "modify" and payload is None:
        line = read_live("the payload to use instead, in JSON: ")
        if line is None or line.strip() in _LEAVING:
            return None
        try:
            payload = _object(line)
        except UsageError as error:
            screen.print(screen.paint("warning", str(error)))
    if reason is None:
        line = read_live("why? The agent is told (an empty line for nothing): ")
        if line is None:
            return None
        reason = line.strip() or None
    return Answer(word, reason, payload)


def outcome(review: Review) -> str:
    """What a decision means."""
    denied = review.state == "denied"
    if review.gate is None:
        return "the session is stopped" if denied else "the agent may go on"
    if denied:
        return f"{action_text(review)} does not happen like this"
    if review.modified is not None:
        return f"{action_text(review)} may happen once, with the payload that was given instead"
    return f"{action_text(review)} may happen once, with exactly this payload"


def _read_payload(given: str) -> dict[str, object]:
    if not given.startswith("@"):
        return _object(given)
    name = given.removeprefix("@")
    try:
        if name == "-":
            data = bytes(open_input().buffer.read(_LONGEST_PAYLOAD + 1))
        else:
            with Path(name).open("rb") as file:
                data = file.read(_LONGEST_PAYLOAD + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LONGEST_PAYLOAD:
        raise UsageError(f"the payload in {name} is longer than {_LONGEST_PAYLOAD:,} bytes")
    try:
        return _object(data.decode("utf-8-sig"))
    except UnicodeError:
        raise UsageError(f"the payload in {name} is no text in UTF-8") from None


def _object(text: str) -> dict[str, object]:
    try:
        value = decode_json(text)
    except ValueError as error:
        raise UsageError(f"the payload is no JSON: {clip(str(error), 200)}; nothing was decided") from None
    if not isinstance(value, dict):
        raise UsageError('a payload is a JSON object, such as {"amount": 3}; nothing was decided')
    return cast("dict[str, object]", value)
