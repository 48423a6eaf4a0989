"""What `accord trace` prints: for people, for programs (JSON), and for CI (JUnit)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from accord.diagnostics.visible import clip, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.cli.terminal import Screen
    from accord.trace.drift import Comparison
    from accord.trace.events import TraceEvent
    from accord.trace.run_summary import RunSummary
    from accord.trace.violations import Violation

__all__ = ["Judged", "comparison_lines", "counted", "judged_object", "junit", "run_lines", "side_by_side"]

_MOST_SHOWN = 50
_CELL = 40


@dataclass(frozen=True, slots=True)
class Judged:
    """A run, which of its violations are new, and how it compares.

    `new` are the new violations that are kept, `new_count` says how many there are.
    """

    file: str
    run: RunSummary
    new: tuple[Violation, ...] = ()
    new_count: int = 0
    comparison: Comparison | None = None
    events: tuple[TraceEvent | None, TraceEvent | None] = field(default=(None, None))
    digest: str | None = None
    """All that a baseline keeps of the event in which the run differs; `None` where it is no baseline, or had ended."""

    @property
    def known(self) -> int:
        """How many of its violations are known."""
        return self.run.violation_count - self.new_count


def counted(number: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def run_lines(screen: Screen, judged: Judged) -> Iterator[str]:
    """A run with its new violations."""
    if not judged.new_count:
        return
    yield f"{screen.paint('strong', visible(judged.run.key))}  {visible(judged.file)}"
    for violation in judged.new[:_MOST_SHOWN]:
        yield f"  {screen.paint('error', violation.code)} at event {violation.event_seq}"
        yield screen.prose(visible(violation.detail), "      ")
    shown = min(len(judged.new), _MOST_SHOWN)
    if judged.new_count > shown:
        yield f"  {'and ' if shown else ''}{judged.new_count - shown:,} more"


def comparison_lines(screen: Screen, judged: Judged) -> Iterator[str]:
    """A run that is not the same."""
    comparison = judged.comparison
    if comparison is None or comparison.status == "same":
        return
    style = "error" if comparison.is_drift else "warning"
    word = screen.paint("error" if style == "error" else "warning", "DRIFT" if comparison.is_drift else "NEW")
    yield f"{screen.paint('strong', visible(comparison.key))}  {word}  {comparison.text}"
    if judged.digest is None:
        yield from side_by_side(screen, *judged.events)
    else:
        yield from beside_digest(judged.digest, judged.events[1])


def beside_digest(digest: str, candidate: TraceEvent | None) -> Iterator[str]:
    """An event of which the baseline has the digest and nothing to compare field by field."""
    yield f"      base: the baseline keeps no payloads; the digest of its event is {digest}"
    yield f"      {_title(candidate, 'candidate')}"
    fields = _fields(candidate)
    width = min(max((len(path) for path in fields), default=0), 40)
    for shown, (path, value) in enumerate(fields.items()):
        if shown == _MOST_SHOWN:
            yield "      …"
            return
        yield f"      {clip(path, 40):<{width}}  {_cell(value, None)}"


def side_by_side(screen: Screen, base: TraceEvent | None, candidate: TraceEvent | None) -> Iterator[str]:
    """Two events, what differs in them marked."""
    if base is None and candidate is None:
        return
    left, right = _fields(base), _fields(candidate)
    width = max((len(path) for path in (*left, *right)), default=0)
    width = min(width, 40)
    yield f"      {'':{width}}  {_title(base, 'base'):<{_CELL}}  {_title(candidate, 'candidate')}"
    shown = 0
    for path in dict.fromkeys((*left, *right)):
        one, other = left.get(path), right.get(path)
        same = one == other
        if same and path not in {"kind", "payload/tool_name"}:
            continue
        shown += 1
        if shown > _MOST_SHOWN:
            yield "      …"
            return
        mark = " " if same else screen.paint("error", "!")
        cells = f"{_cell(one, other):<{_CELL}}  {_cell(other, one)}"
        yield f"    {mark} {clip(path, 40):<{width}}  {cells}".rstrip()


def _title(event: TraceEvent | None, side: str) -> str:
    return f"{side}: nothing" if event is None else f"{side}: event {event.seq}"


def _fields(event: TraceEvent | None) -> dict[str, str]:
    """The scalars of an event by their place."""
    found: dict[str, str] = {}

    def walk(value: Any, path: str) -> None:  # noqa: ANN401 - any JSON
        if isinstance(value, dict) and value:
            for key, item in value.items():
                walk(item, f"{path}/{key}" if path else str(key))
        elif isinstance(value, list) and value:
            for place, item in enumerate(value):
                walk(item, f"{path}/{place}")
        else:
            found[path] = json.dumps(value, ensure_ascii=False)

    if event is not None:
        walk({"kind": event.kind, "payload": event.payload}, "")
    return found


def _cell(text: str | None, other: str | None) -> str:
    """A value, cut so that the place where two of them differ is seen."""
    if text is None:
        return "-"
    start = 0
    if other is not None and len(text) > _CELL:
        same = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
        start = max(0, min(same - _CELL // 2, len(text) - _CELL + 2))
    return clip(("…" if start else "") + text[start:], _CELL)


# -- for programs ------------------------------------------------------------------------------------------------------


def judged_object(judged: Judged) -> dict[str, Any]:
    """A run with everything that is known of it."""
    run = judged.run
    new = {id(violation) for violation in judged.new}
    found: dict[str, Any] = {
        "key": run.key,
        "file": judged.file,
        "run_id": run.run_id,
        "example_id": run.example_id,
        "events": run.events,
        "fingerprint": run.fingerprint,
        "violations": [{**violation.to_dict(), "new": id(violation) in new} for violation in run.violations],
    }
    if run.violation_count > len(run.violations):
        found["violations_left_out"] = run.violation_count - len(run.violations)
    comparison = judged.comparison
    if comparison is not None:
        base, candidate = judged.events
        found["comparison"] = {
            "status": comparison.status,
            "drift": comparison.is_drift,
            "first_difference": comparison.place,
            "text": comparison.text,
            "base_fingerprint": None if comparison.base is None else comparison.base.fingerprint,
            "base_digest": judged.digest,
            "base_event": None if base is None else base.to_dict(),
            "candidate_event": None if candidate is None else candidate.to_dict(),
        }
    return found


def junit(suite: str, runs: Iterable[Judged]) -> str:
    """One test case for each run: a failure if it drifted, and one if it has new violations."""
    cases, failures = [], 0
    for judged in runs:
        problems = [("violation", str(violation)) for violation in judged.new]
        if judged.new_count > len(judged.new):
            problems.append(("violation", f"{judged.new_count - len(judged.new):,} violations more"))
        comparison = judged.comparison
        if comparison is not None and comparison.is_drift:
            problems.append(("drift", f"{comparison.key}: {comparison.text}"))
        name = f"name={_attribute(judged.run.key)} classname={_attribute(judged.file)}"
        if not problems:
            cases.append(f"    <testcase {name}/>")
            continue
        failures += 1
        kinds = " and ".join(dict.fromkeys(kind for kind, _ in problems))
        text = "\n".join(message for _, message in problems)
        message = _attribute(f"{counted(len(problems), 'problem')}: {problems[0][1]}")
        body = f'<failure type="{kinds}" message={message}>{escape(_lines(text))}</failure>'
        cases.append(f"    <testcase {name}>{body}</testcase>")
    inside = "\n".join(cases)
    head = f'name={_attribute(suite)} tests="{len(cases)}" failures="{failures}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n  <testsuite {head}>\n'
        f"{inside}{chr(10) if inside else ''}  </testsuite>\n</testsuites>"
    )


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))
