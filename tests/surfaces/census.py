"""What a campaign looked at: constructs of contracts and features of runs, at every surface, with floors."""

from __future__ import annotations

from tests.census import Census
from tests.surfaces.capabilities import BY_NATURE, FEATURES, MISSING, can
from tests.surfaces.contracts import CONSTRUCTS
from tests.surfaces.generate import Pair
from tests.surfaces.surfaces import SURFACES

__all__ = ["Seen"]

STATUSES = ("conforming", "incomplete", "violating")
LENGTHS = ("2 to 5", "6 to 15", "16 to 59", "60 and more")
NEEDS = {
    "deadline": "time", "within": "time", "gate": "gates", "sliced protocol": "slices", "sliced rule": "slices",
    "open": "open", "events block": "events", "named otherwise": "named otherwise", "tools": "tools",
}  # fmt: skip
"""The feature that a construct is."""
SHARES = {
    "events": 0.1, "slices": 0.2, "gates": 0.05, "several out": 0.2, "late": 0.06, "open": 0.1, "fails undone": 0.1,
    "answers": 0.01, "fails done": 0.02, "fails unknown": 0.03, "long": 0.005, "text": 0.1, "waiting": 0.1,
}  # fmt: skip
"""So much of the pairs that may use a feature use it."""


def there() -> list[str]:
    """The surfaces that are there."""
    return [name for name in SURFACES if can(name) is not None]


def reasons(rows, feature_of) -> dict[tuple[str, str], str]:
    """Why some cells stay empty: by nature, or because it is not built yet."""
    found = {}
    for surface in there():
        for row in rows:
            feature = feature_of(row)
            if feature is None:
                continue
            if feature in BY_NATURE.get(surface, {}):
                found[row, surface] = BY_NATURE[surface][feature]
            elif feature in MISSING["*"] | MISSING.get(surface, frozenset()):
                found[row, surface] = "not built yet"
    return found


def wanted_for(row: str) -> str | None:
    """What a pair is made for if a row of the tables lacks one; most need no more than chance."""
    return {"60 and more": "long"}.get(row, row if row in RARE else None)


RARE = {"foreseen", "several reasons", "long", "answers"}
"""What random pairs hardly ever use, so that some are made for it."""


class Seen:
    """The tables of a campaign."""

    def __init__(self) -> None:
        surfaces = tuple(there())
        self.pairs = 0
        self.driven = dict.fromkeys(surfaces, 0)
        self.constructs = Census("constructs", CONSTRUCTS, surfaces, reasons(CONSTRUCTS, NEEDS.get))
        self.features = Census("features", tuple(FEATURES), surfaces, reasons(FEATURES, lambda feature: feature))
        self.statuses = Census("statuses", STATUSES, surfaces)
        self.lengths = Census("lengths", LENGTHS, surfaces, reasons(LENGTHS, {"60 and more": "long"}.get))
        self.used = dict.fromkeys(FEATURES, 0)
        self.offered = dict.fromkeys(FEATURES, 0)

    def pair(self, pair: Pair, features: frozenset[str]) -> None:
        """A pair was made that might have used these features."""
        self.pairs += 1
        for feature in features:
            self.offered[feature] += 1
            self.used[feature] += feature in pair.uses

    def add(self, surface: str, pair: Pair) -> None:
        """A pair was driven through a surface."""
        self.driven[surface] += 1
        made = [one for one in pair.written.made if one in CONSTRUCTS]
        self.constructs.add((one, surface) for one in made if self.constructs.reason(one, surface) is None)
        self.features.add((feature, surface) for feature in pair.uses)
        self.statuses.add([(pair.outcome.status, surface)])
        size = len(pair.run)
        self.lengths.add([(LENGTHS[0 if size < 6 else 1 if size < 16 else 2 if size < 60 else 3], surface)])

    def tables(self) -> tuple[Census, ...]:
        return self.constructs, self.features, self.statuses, self.lengths

    def lacking(self, floor: int) -> list[tuple[str, str]]:
        """The cells below the floor."""
        return [cell for table in self.tables() for cell in table.lacking(floor)]

    def check(self, floor: int) -> None:
        """Every cell has the floor, and every share is there."""
        wrong = [f"{what} × {where}: less than {floor}" for what, where in self.lacking(floor)]
        wrong += [
            f"{what} × {where}: {count}, although {reason}"
            for table in self.tables()
            for (what, where), count in table.counts.items()
            if (reason := table.reason(what, where)) is not None
        ]
        assert not wrong, "\n".join([*wrong, self.features.table()])
        poor = {
            feature: self.used[feature] / self.offered[feature]
            for feature, share in SHARES.items()
            if self.used[feature] < share * self.offered[feature]
        }
        assert not poor, f"too few pairs have these: {poor}"

    def sentence(self) -> str:
        driven = ", ".join(f"{surface} {count:,}" for surface, count in self.driven.items())
        return f"every surface: {self.pairs:,} contracts with a run each, driven through {driven}"
