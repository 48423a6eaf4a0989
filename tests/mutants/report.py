"""What a run has found out, as a table and diffs, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.mutants.kept import Reason
from tests.mutants.operators import OPERATORS
from tests.mutants.text import Module, Mutant, difference
from tests.mutants.trying import Verdict


@dataclass(frozen=True)
class Tried:
    """A mistake, what became of it, and its reason if it is listed."""

    part: str
    module: Module
    mutant: Mutant
    verdict: Verdict
    reason: Reason | None

    @property
    def is_new(self) -> bool:
        """Whether it survived and nobody has said why it may."""
        return not self.verdict.is_found and self.reason is None

    def written(self) -> dict:
        return {
            "id": self.mutant.id,
            "part": self.part,
            "operator": self.mutant.operator,
            "path": self.mutant.path,
            "line": self.mutant.line,
            "where": self.mutant.where,
            **self.verdict.written(),
            "reason": self.reason.why if self.reason else None,
            "diff": difference(self.module, self.mutant),
        }


HEAD = ("drawn", "found", "hung", "survived", "listed", "new")


def _counts(some: Iterable[Tried]) -> tuple[int, ...]:
    some = list(some)
    of = [each.verdict.verdict for each in some]
    lived = [each for each in some if not each.verdict.is_found]
    new = sum(each.is_new for each in some)
    return len(some), of.count("found"), of.count("hung"), len(lived), len(lived) - new, new


def table(tried: list[Tried]) -> str:
    """Found of drawn for each part and operator; below, and to the right, what became of the rest."""
    parts = list(dict.fromkeys(each.part for each in tried))
    rows = [("", *parts, "", *HEAD)]
    for operator in OPERATORS:
        of = [each for each in tried if each.mutant.operator == operator]
        rows.append((operator, *(_cell(each for each in of if each.part == part) for part in parts), "", *_counts(of)))
    by_part = [_counts(each for each in tried if each.part == part) for part in parts]
    rows += [(what, *(counts[n] for counts in by_part), "", *[""] * len(HEAD)) for n, what in enumerate(HEAD)]
    rows.append(("in all", *[""] * len(parts), "", *_counts(tried)))
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            str(cell).ljust(width) if not column else str(cell).rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _cell(some: Iterable[Tried]) -> str:
    some = list(some)
    return f"{sum(each.verdict.is_found for each in some)}/{len(some)}" if some else "·"


def told(tried: list[Tried], gone: list[Reason], left_out: dict[str, str]) -> Iterator[str]:
    """The report, piece by piece."""
    for each in tried:
        if each.is_new:
            ran = f"{each.verdict.ran} tests ran" if each.verdict.ran else "no test executes it"
            yield f"\nsurvived, {ran}: {difference(each.module, each.mutant)}"
    yield f"\n{table(tried)}"
    for reason in gone:
        yield f"survivors.md lists `{reason.id}` in {reason.path}, which is no mutant any more: remove the line"
    for each in tried:
        if each.reason and each.verdict.is_found:
            what = f"`{each.mutant.id}` in {each.mutant.path}"
            yield f"survivors.md lists {what}, which {each.verdict.by} finds: remove the line"
    if left_out:
        yield f"\n{len(left_out)} tests or files are not in the map:"
        yield from (f"  {test}: {why}" for test, why in sorted(left_out.items()))


def as_json(tried: list[Tried], gone: list[Reason], left_out: dict[str, str], seed: int, source: str) -> str:
    """The same for programs."""
    counts = dict(zip(HEAD, _counts(tried), strict=True))
    return json.dumps(
        {
            "seed": seed,
            "source": source,
            "counts": counts,
            "mutants": [each.written() for each in tried],
            "gone": [reason.id for reason in gone],
            "left_out": left_out,
        },
        indent=1,
    )
