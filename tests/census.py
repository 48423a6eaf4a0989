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

    def lacking(self, floor: int) -> list[Cell]:
        """The cells that are below the floor without a reason: a campaign goes on for a while to fill them."""
        return [
            (construct, place)
            for construct in self.constructs
            for place in self.places
            if self.counts[construct, place] < floor and self.reason(construct, place) is None
        ]

    def check(self, floor: int) -> None:
        """Every cell has the floor, or is empty for a reason."""
        wrong = [
            f"{construct} × {place}: {self.counts[construct, place]}, less than {floor}"
            for construct, place in self.lacking(floor)
        ]
        wrong += [
            f"{construct} × {place}: {count}, although {reason}"
            for (construct, place), count in self.counts.items()
            if (reason := self.reason(construct, place)) is not None
        ]
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
        return "\n".join((*lines, *self._reasons()))

    def _reasons(self) -> Iterator[str]:
        """One line for each reason, however many cells it explains; more where they are no rectangle."""
        for why in dict.fromkeys(self.never.values()):
            places: dict[str, list[str]] = {}
            for (construct, place), given in self.never.items():
                if given == why:
                    places.setdefault(construct, []).append(place)
            for columns in dict.fromkeys(map(tuple, places.values())):
                rows = (construct for construct, found in places.items() if tuple(found) == columns)
                yield f"— {', '.join(rows)} × {', '.join(columns)}: {why}"
