"""A contract that labels alone decide, as a table that grows while runs are judged.

A row is where runs have stood, a column a word that has come. What stands there is worked out by the monitor's own
`step` when it is first needed, so the table says what a monitor says, and only of what really happens: the product of a
protocol and its rules is never built. Judging a run is then one look-up per event, alone or for all runs at once over
arrays (`columns`), and how often each place was looked up tells what the runs have exercised (`coverage`).

A *code* is twice the row after the event, plus 1 if the event was refused. Refused events leave the row as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.audit.model import Refused, Status, refused_by
from accord.errors import AccordError
from accord.machine.stages import Stage
from accord.monitor.refusals import unknown_call
from accord.monitor.step import Aside, begin, close, step
from accord.monitor.verdicts import Violation

if TYPE_CHECKING:
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.monitor.step import Situation

__all__ = ["UNKNOWN", "Steps", "TooManyRowsError", "Word", "ending"]

UNKNOWN = -1
"""What stands in the table where nothing is worked out yet."""

_MOST_ROWS = 20_000
_MOST_WORDS = 2_000


class TooManyRowsError(AccordError):
    """Runs stand in more places, or say more words, than are worth remembering; they are judged without the table."""


class Word(NamedTuple):
    """A column: an event, the tool if it is a call, whether the contract says what it is, and whether it is only said.

    A call that it does not know is refused.
    """

    event: Event
    tool: str | None = None
    known: bool = True
    said: bool = False

    @property
    def is_action(self) -> bool:
        """Whether a guard would not have let it happen: what comes back or is said has happened."""
        return self.event.direction == "!" and not self.said

    @property
    def text(self) -> str:
        """The word, and the tool behind it if that has another name."""
        word = self.event.word
        return word if self.tool is None or word == f"!{self.tool}" else f"{word} ({self.tool})"


class Steps:
    """The table of one protocol. Row 0 is where runs begin."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        if contract.needs_more_than_labels not in {"", "gates"}:
            raise AccordError(f"a contract with {contract.needs_more_than_labels} has no table")
        self.situations: list[Situation] = [begin(contract, protocol)]
        self.words: list[Word] = []
        self.rows: list[list[int]] = [[]]
        self._row_of: dict[object, int] = {self._key(self.situations[0]): 0}
        self._column_of: dict[object, int] = {}
        self._refusals: dict[tuple[int, int], Refused] = {}
        self._closings: dict[int, tuple[Status, Refused | None]] = {}

    def column(self, word: Word) -> int:
        """The column of a word, which is made if it is new."""
        event = word.event
        key = event.direction, event.label, event.partner, event.by, event.to_rules, *word[1:]
        known = self._column_of.get(key)
        if known is not None:
            return known
        if len(self.words) >= _MOST_WORDS:
            raise TooManyRowsError(f"more than {_MOST_WORDS} words")
        number = self._column_of[key] = len(self.words)
        self.words.append(word)
        for row in self.rows:
            row.append(UNKNOWN)
        return number

    def work_out(self, row: int, column: int) -> int:
        """The code of a row and a column, from then on in the table."""
        before, (event, _, known, _) = self.situations[row], self.words[column]
        if known:
            after, verdict = step(before, event, "refuse")
            refused = isinstance(verdict, Violation)
            code = 2 * (row if refused else self.row(after)) + refused
        else:
            code = 2 * row + 1
        self.rows[row][column] = code
        return code

    def refusal(self, row: int, column: int) -> Refused:
        """What was refused there, in words."""
        found = self._refusals.get((row, column))
        if found is None:
            before, (event, _, known, _) = self.situations[row], self.words[column]
            verdict: object
            if known:
                _, verdict = step(before, event, "refuse")
            else:
                verdict = Violation.of(unknown_call(before.stage, event), None)
            assert isinstance(verdict, Violation)  # noqa: S101 - asked for a refused place
            found = self._refusals[row, column] = refused_by(verdict)
        return found

    def closing(self, row: int) -> tuple[Status, Refused | None]:
        """The status of a run that ends there with nothing refused, and what is owed."""
        found = self._closings.get(row)
        if found is None:
            found = self._closings[row] = ending(*close(self.situations[row], None, None))
        return found

    def row(self, situation: Situation) -> int:
        """The row of a situation, which is made if it is new."""
        key = self._key(situation)
        known = self._row_of.get(key)
        if known is not None:
            return known
        if len(self.rows) >= _MOST_ROWS:
            raise TooManyRowsError(f"more than {_MOST_ROWS} places")
        number = self._row_of[key] = len(self.rows)
        self.situations.append(situation)
        self.rows.append([UNKNOWN] * len(self.words))
        return number

    @staticmethod
    def _key(situation: Situation) -> object:
        """Equal for situations in which the same can happen; stages of one place may be several objects."""
        place = situation.place
        stage = place if isinstance(place, Stage) else place.stage
        return stage.standing.configurations, tuple([node.state for node in stage.rules]), isinstance(place, Aside)


def ending(closed: Situation, verdict: object) -> tuple[Status, Refused | None]:
    """The status of a run with nothing refused that was closed like this, and what is owed."""
    phase = closed.place.phase if isinstance(closed.place, Aside) else "complete"
    if phase == "unrecognised":
        return "unrecognised", None
    if isinstance(verdict, Violation):
        return "incomplete", refused_by(verdict)
    return "conforming", None
