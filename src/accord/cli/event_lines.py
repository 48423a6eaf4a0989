"""What `accord events` prints, for people and as JSON. Text of messages may be hostile, so it is made inert."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip, visible
from accord.language.labels import print_word

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from accord.cli.terminal import Screen
    from accord.machine.contract import Contract
    from accord.projection.projection import Projected
    from accord.sources.model import Message, Run

__all__ = ["Seen", "ending_lines", "heading", "message_line", "seen_objects"]

_SAID = 44
_WHAT = 30
_WORD = 24
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """A message and what the projection makes of it."""

    message: Message
    projected: Projected
    waited: bool = False
    """Whether a guard would have held the call until an earlier call of its message had ended."""
    follows: bool = False
    """Whether it ends a call that a guard would have refused."""
    violates: bool = False
    """Whether the contract refuses it where the run stands."""

    @property
    def outcome(self) -> str:
        """`labelled`, `ignored`, `unmatched` or `refused`."""
        if self.projected.event is not None:
            return "labelled"
        return _OUTCOMES.get(self.projected.outcome, "unmatched")

    @property
    def line(self) -> int | None:
        """Which line of the events says so, from 0."""
        label = self.projected.label
        return None if label is None or self.outcome == "unmatched" else label.line

    @property
    def word(self) -> str | None:
        """The event it is."""
        event = self.projected.event
        return None if event is None else print_word(event.direction, event.label)


_OUTCOMES = {"ignored": "ignored", "unknown call": "refused"}


def heading(screen: Screen, run: Run) -> str:
    """Which run it is."""
    about = ", ".join(f"{visible(name)} {visible(str(value))}" for name, value in run.metadata.items())
    return f"{screen.paint('strong', f'run {visible(run.key)}')} of {visible(run.file)}{f' ({about})' if about else ''}"


def message_line(screen: Screen, contract: Contract, seen: Seen) -> str:
    """One message: where it stands, what it is, what it says, its label, and the line that gives it."""
    message = seen.message
    what = message.kind if message.name is None else f"{message.kind} {message.name}"
    said = clip(" ".join(message.text.split()), _SAID)
    columns = f"{message.index:>4}  {clip(what, _WHAT):<{_WHAT}}  {said:<{_SAID}}  "
    notes = {"would have waited": seen.waited, "follows a refusal": seen.follows, "refused": seen.violates}
    behind = "".join(f", {note}" for note, holds in notes.items() if holds)
    if seen.outcome == "refused":
        return columns + screen.paint("error", "refused: no line of the events takes it")
    if seen.outcome == "unmatched":
        return columns + screen.paint("faint", f"unmatched{behind}")
    line = f"line {_line_number(contract, seen.line)}" if seen.line is not None else "by its name"
    word = seen.word
    shown = screen.paint("faint", f"{'ignored':<{_WORD}}") if word is None else f"{clip(word, _WORD):<{_WORD}}"
    return f"{columns}{shown}  {screen.paint('faint', line + behind)}"


def _line_number(contract: Contract, line: int) -> int:
    document = contract.document
    assert document.events is not None  # noqa: S101 - a label with a line comes from there
    return document.source.line_and_column(document.events.lines[line].span.start)[0]


def ending_lines(screen: Screen, counts: Counter[str], others: int) -> Iterator[str]:
    """The sums."""
    total = sum(counts.values())
    parts = [f"{total} message{'' if total == 1 else 's'}"]
    parts += [f"{counts[outcome]} {outcome}" for outcome in ("labelled", "ignored", "unmatched", "refused")]
    yield screen.paint("strong", ": ".join([parts[0], ", ".join(part for part in parts[1:] if part[0] != "0")]))
    if others:
        yield f"{others:,} more run{'' if others == 1 else 's'} in this file; --run KEY shows another"


def seen_objects(run: Run, seen: list[Seen], counts: Counter[str]) -> Iterator[str]:
    """The same as JSON lines. All that is not ASCII is escaped, so nothing in it reaches a terminal raw."""
    for one in seen:
        message = one.message
        yield json.dumps(
            {
                "index": message.index,
                "kind": message.kind,
                "name": message.name,
                "text": message.text[:_LONGEST],
                "outcome": one.outcome,
                "event": one.word,
                "line": one.line,
                "waited": one.waited,
                "follows": one.follows,
                "violates": one.violates,
            }
        )
    outcomes = {name: counts[name] for name in ("labelled", "ignored", "unmatched", "refused")}
    yield json.dumps({"run": run.key, "file": run.file, "messages": len(seen), **outcomes, "metadata": run.metadata})
