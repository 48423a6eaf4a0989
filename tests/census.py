"""What a random generator made: a table of construct and place, with a floor for every cell.

A generator that never puts a loop at the head of a branch tests nothing about such loops, however often it runs. So
each campaign counts what it looked at, prints the table, and fails where a cell is below the floor. A cell that has to
stay empty is explained in one line, and fails when it is not empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Cell = tuple[str, str]


@dataclass
class Census:
    """Counts of constructs (rows) at places (columns).

    `never` explains the cells that stay empty. A key may leave the row or the column open with `*`.
    """

    title: str
    constructs: tuple[str, ...]
    places: tuple[str, ...]
    never: Mapping[Cell, str] = field(default_factory=dict)
    counts: Counter[Cell] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for construct, place in self.never:
            if construct not in (*self.constructs, "*") or place not in (*self.places, "*"):
                raise ValueError(f"{self.title}: no such cell to explain: {construct} × {place}")

    def add(self, cells: Iterable[Cell]) -> None:
        """Count what one generated thing holds."""
        for cell in cells:
            if cell[0] not in self.constructs or cell[1] not in self.places:
                raise ValueError(f"{self.title}: no such cell: {cell[0]} × {cell[1]}")
            self.counts[cell] += 1

    def reason(self, construct: str, place: str) -> str | None:
        """Why a cell stays empty; `None` if it does not."""
        keys = ((construct, place), (construct, "*"), ("*", place))
        return next((self.never[key] for key in keys if key in self.never), None)

    def check(self, floor: int) -> None:
        """Every cell has the floor, or is empty for a reason."""
        wrong = []
        for construct in self.constructs:
            for place in self.places:
                count, reason = self.counts[construct, place], self.reason(construct, place)
                if reason is None and count < floor:
                    wrong.append(f"{construct} × {place}: {count}, less than {floor}")
                elif reason is not None and count:
                    wrong.append(f"{construct} × {place}: {count}, although {reason}")
        assert not wrong, "\n".join((*wrong, self.table()))

    def table(self) -> str:
        """The counts as text; a cell that stays empty is a dash, with the reasons below."""
        rows = [(self.title, *self.places)]
        rows += [
            (
                construct,
                *(
                    "—" if self.reason(construct, place) else f"{self.counts[construct, place]:,}"
                    for place in self.places
                ),
            )
            for construct in self.constructs
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell.ljust(width) if not column else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join((*lines, *self._explanations()))

    def _explanations(self) -> Iterator[str]:
        """Why cells stay empty, those of one construct and one reason together."""
        places: dict[tuple[str, str], list[str]] = {}
        for (construct, place), why in self.never.items():
            places.setdefault((construct, why), []).append(place)
        for (construct, why), explained in places.items():
            yield f"— {construct} × {', '.join(explained)}: {why}"
