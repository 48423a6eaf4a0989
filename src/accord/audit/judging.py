"""One run after the other: each message gets its label, each label its verdict, and the tally counts.

Two judges say the same. `TableJudge` is for contracts that labels alone decide: a step is a look-up in a table.
`StepJudge` is for all others: a step is the monitor's own, with payload and time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.audit.coverage import applied_rules, edges_taken
from accord.audit.model import Breach, Refused, Verdict, refused_by
from accord.audit.steps import Steps, Word, status_at_end
from accord.audit.tally import MOST_BROKEN, Group, Tally, count, note
from accord.errors import UsageError
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.monitor.quick import quick_step
from accord.monitor.refusals import Refusal, belonging, unknown_call
from accord.monitor.step import begin, step, tick
from accord.monitor.verdicts import Violation
from accord.sources.model import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.audit.model import Status
    from accord.machine.contract import Contract
    from accord.machine.labeller import Label
    from accord.machine.standing import Standing
    from accord.monitor.step import Situation
    from accord.sources.model import Broken, Kind, Message, Run

__all__ = ["Judge", "StepJudge", "TableJudge", "count_place", "is_for_columns", "is_for_table", "standing_of"]


def is_for_table(contract: Contract) -> bool:
    """Whether labels alone decide, and who made a step."""
    return contract.needs_more_than_labels in {"", "gates"}


def is_for_columns(contract: Contract) -> bool:
    """Whether besides that a label is enough to tell which event a message is: no line of the events looks further."""
    return is_for_table(contract) and not any(line.guards for line in contract.labeller.lines or ())


def has_gates(contract: Contract) -> bool:
    """Whether it matters who made a step."""
    patterns = [pattern for rule in contract.rules.machines for pattern in rule.patterns]
    symbols = [symbol for machine in contract.machines.values() for symbol in machine.symbols]
    return any(pattern.gated for pattern in patterns) or any(symbol.gated for symbol in symbols)


class Judge(ABC):
    """Judges runs and counts what it sees."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        self.contract = contract
        self.protocol = contract.protocol_name(protocol)
        self.tally = Tally(files=1)
        self.labeller = contract.labeller
        self.label = self.labeller.label
        self.refuses_unknown = self.labeller.refuses_unmatched_calls
        self.gated = has_gates(contract)
        self._groups: dict[Status, tuple[list[Group], dict[tuple[str, str], Group]]] = {
            "violating": (self.tally.violations, {}),
            "incomplete": (self.tally.owed, {}),
        }

    @abstractmethod
    def judge(self, run: Run) -> Verdict:
        """What the contract says of a run.

        Raises `UsageError` if it cannot say anything: a time was not recorded, a partner not named.
        """

    @abstractmethod
    def finish(self) -> Tally:
        """Everything that was counted."""

    def add_broken(self, broken: Broken) -> None:
        """Count what could not be read, or not be judged."""
        self.tally.broken += 1
        if len(self.tally.first_broken) < MOST_BROKEN:
            self.tally.first_broken.append(broken)

    def skip(self, label: Label | None, kind: Kind, name: str | None, times: int = 1) -> None:
        """Count messages that are to be ignored, or that the events say nothing about."""
        if label is not None:
            self.tally.ignored += times
        else:
            count(self.tally.unmatched, kind if name is None else f"{kind} {name}", times)

    def note(self, status: Status, run: str, breach: Breach, runs: int = 1) -> None:
        """Count what was refused first or owed in a run, or in several alike, of which it is the shortest."""
        groups, known = self._groups[status]
        note(groups, known, run, breach, runs)

    def verdict(self, run: Run, breach: Breach | None, status: Status, events: int, refused: int) -> Verdict:
        """The verdict, counted."""
        self.tally.statuses[status] += 1
        self.tally.events += events
        self.tally.refused += refused
        if breach is not None:
            self.note(status, run.key, breach)
        return Verdict(run.key, "", status, breach, run.line, events, refused, run.metadata)


_SKIPPED = -1


@dataclass(slots=True)
class _Entry:
    """What messages of one kind and name are, and how often they came.

    `column` is theirs if nothing else matters (`_SKIPPED` if nobody looks at them). Else there are `tests`: a message
    has the column of the first that it passes. How often it passed none, or one that has it ignored, is counted too.
    """

    column: int
    tests: Sequence[tuple[Callable[[Message], bool] | None, int]] | None
    unmatched: bool
    """Whether nothing says what they are, if nothing else matters."""
    times: int = 0
    passed_none: int = 0
    ignored: int = 0


class TableJudge(Judge):
    """Judges by look-ups in a table that grows: what a message is by its kind and name, what it does by the row."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        super().__init__(contract, protocol)
        self.steps = Steps(contract, self.protocol)
        self._visits: list[list[int]] = []
        self._entries: dict[str, dict[str | None, _Entry]] = {kind: {} for kind in KINDS}

    def column_of(self, label: Label | None, kind: Kind, name: str | None) -> int:
        """The column of messages that have this label; `_SKIPPED` if they are not looked at."""
        if label is None:
            if kind != "call" or not self.refuses_unknown:
                return _SKIPPED
            return self.steps.column(Word(Event("!", name or ""), known=False))
        if label.label is None:
            return _SKIPPED
        event = Event(label.direction, label.label, by=label.by if self.gated else None)
        return self.steps.column(Word(event, name if kind == "call" else None))

    def _entry(self, kind: Kind, name: str | None) -> _Entry:
        candidates = self.labeller.candidates(kind, name)
        if not candidates or candidates[0][0] is None:
            label = candidates[0][1] if candidates else None
            made = _Entry(self.column_of(label, kind, name), None, label is None)
        else:
            tests = [(test, self.column_of(label, kind, name)) for test, label in candidates]
            made = _Entry(self.column_of(None, kind, name), tests, unmatched=True)
        self._entries[kind][name] = made
        return made

    def judge(self, run: Run) -> Verdict:
        """One look-up per event."""
        steps, entries = self.steps, self._entries
        rows, visits = steps.rows, self._visits
        row = events = refused = 0
        first: Breach | None = None
        message = None
        for message in run.messages:
            entry = entries[message.kind].get(message.name)
            if entry is None:
                entry = self._entry(message.kind, message.name)
            entry.times += 1
            column = entry.column if entry.tests is None else _tested(entry, message)
            if column < 0:
                continue
            try:
                visits[row][column] += 1
            except IndexError:
                self._make_room(row, column)
            code = rows[row][column]
            if code < 0:
                code = steps.work_out(row, column)
            if code & 1:
                if first is None:
                    first = Breach(steps.refusal(row, column), message.index, events)
                refused += 1
            row = code >> 1
            events += 1
        self.tally.messages += 0 if message is None else message.index + 1
        if first is not None:
            return self.verdict(run, first, "violating", events, refused)
        status, owed = steps.closing(row)
        return self.verdict(run, None if owed is None else Breach(owed, None, events), status, events, 0)

    def _make_room(self, row: int, column: int) -> None:
        """Count a first visit, where there is no place to count it yet."""
        visits = self._visits
        while len(visits) <= row:
            visits.append([])
        visits[row] += [0] * (column + 1 - len(visits[row]))
        visits[row][column] += 1

    def finish(self) -> Tally:
        """Add what the entries have counted, and what was exercised, which the visits tell."""
        for kind in KINDS:
            for name, entry in self._entries[kind].items():
                self.tally.calls += entry.times if kind == "call" else 0
                skipped = entry.times if entry.tests is None and entry.column == _SKIPPED else 0
                unmatched = entry.times if entry.tests is None and entry.unmatched else entry.passed_none
                self.tally.ignored += entry.ignored if entry.unmatched else skipped
                if unmatched:
                    self.skip(None, kind, name, unmatched)
        for row, visited in enumerate(self._visits):
            for column, number in enumerate(visited):
                if number:
                    count_place(self.tally, self.steps, row, column, number)
        return self.tally


def _tested(entry: _Entry, message: Message) -> int:
    """The column of a message of which kind and name do not tell everything."""
    for test, column in entry.tests or ():
        if test is None or test(message):
            if column < 0:
                entry.ignored += 1
            return column
    entry.passed_none += 1
    return entry.column


def count_place(tally: Tally, steps: Steps, row: int, column: int, number: int) -> None:
    """Count what a place of the table, looked up so often, has exercised, or would have blocked."""
    word = steps.words[column]
    event, refused = word.event, steps.rows[row][column] & 1
    if refused:
        count(tally.blocked, word.text, number)
    if not word.known:
        return
    stage = steps.situations[row].stage
    _count_rules(tally, applied_rules(stage.stages.book, stage.rules, event))
    if not refused:
        _count_edges(tally, stage.standing, event, number)


def _count_rules(tally: Tally, rules: list[int]) -> None:
    if not set(rules) <= set(tally.exercised):
        tally.exercised = sorted({*tally.exercised, *rules})


def _count_edges(tally: Tally, standing: Standing, event: Event, number: int) -> None:
    for state, symbol in edges_taken(standing, event):
        edge = f"{state}/{symbol}"
        tally.traffic[edge] = tally.traffic.get(edge, 0) + number


class StepJudge(Judge):
    """Judges by the steps of the monitor."""

    def judge(self, run: Run) -> Verdict:
        """As a refusing monitor would."""
        situation = begin(self.contract, self.protocol)
        tally = self.tally
        is_timed = situation.stage.stages.is_timed
        events = refused = calls = 0
        first: Breach | None = None
        message, at = None, None
        for message in run.messages:
            calls += message.kind == "call"
            label = self.label(message)
            if label is None or label.label is None:
                self.skip(label, message.kind, message.name)
                if label is None and message.kind == "call" and self.refuses_unknown:
                    event = Event("!", message.name or "")
                    first = first or Breach(_unknown(situation, event), message.index, events)
                    count(tally.blocked, event.word)
                    refused += 1
                    events += 1
                continue
            at = message.at if message.at is not None else at
            if is_timed and message.at is None:
                raise UsageError(f"the contract uses time, and message {message.index} was recorded without one")
            event = Event(
                label.direction, label.label, None, message.payload, label.by if self.gated else None, message.at
            )
            self._cover(situation, event)
            after = quick_step(situation, event)
            if after is None:
                after, verdict = step(situation, event, "refuse")
                if isinstance(verdict, Violation):
                    first = first or Breach(refused_by(verdict), message.index, events)
                    refused += 1
                    count(tally.blocked, Word(event, message.name if message.kind == "call" else None).text)
                    situation = after
                    events += 1
                    continue
            _count_edges(tally, standing_of(situation, event), event, 1)
            situation = after
            events += 1
        tally.calls += calls
        tally.messages += 0 if message is None else message.index + 1
        if first is not None:
            return self.verdict(run, first, "violating", events, refused)
        if is_timed and at is None:
            raise UsageError("the contract uses time, and nothing that it looks at was recorded with one")
        status, owed = status_at_end(situation, at)
        return self.verdict(run, None if owed is None else Breach(owed, None, events), status, events, 0)

    def _cover(self, situation: Situation, event: Event) -> None:
        book = situation.stage.stages.book
        if len(self.tally.exercised) < len(book.machines):
            _count_rules(self.tally, applied_rules(book, situation.rules, event))

    def finish(self) -> Tally:
        """Nothing is left to be done."""
        return self.tally


def _unknown(situation: Situation, event: Event) -> Refused:
    return refused_by(Violation.of(unknown_call(situation.stage, event), None))


def standing_of(situation: Situation, event: Event) -> Standing:
    """Where the protocol stood, or the event's instance of it, when the event came: time had passed until then."""
    if situation.stage.stages.is_timed:
        situation, _ = tick(situation, "refuse", None, event.at)
    stage, held = situation.stage, situation.holding
    if stage.stages.sliced is None or not isinstance(held, Extent):
        return stage.standing
    return Refusal(stage, event, extent=held, belongs=belonging(stage, event)).standing
