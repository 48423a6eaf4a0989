"""One run after the other: each message is projected to its event, each event gets its verdict, and the tally counts.

Two judges say the same. `TableJudge` is for contracts that labels alone decide: a step is a look-up in a table.
`StepJudge` is for all others: a step is the monitor's own, with payload and time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.audit.coverage import applied_rules, edges_taken
from accord.audit.model import Breach, Verdict, refused_by
from accord.audit.steps import Steps, Word, ending
from accord.audit.tally import MOST_BROKEN, Group, Tally, count, note
from accord.calls.replay import Replay, is_alone, speaks_of_ends
from accord.errors import UsageError
from accord.language.events import SPEAKERS
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.monitor.refusals import Refusal, belonging
from accord.monitor.step import tick
from accord.monitor.verdicts import Blocked, Violation
from accord.projection.happenings import KINDS
from accord.projection.labels import labeller_of
from accord.projection.projection import projection_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.audit.model import Status
    from accord.calls.replay import Judged
    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.standing import Standing
    from accord.monitor.step import Situation
    from accord.projection.happenings import Kind
    from accord.projection.labels import Test
    from accord.projection.projection import Outcome, Projected
    from accord.sources.model import Broken, Run

__all__ = ["Judge", "StepJudge", "TableJudge", "count_place", "is_for_columns", "is_for_table", "standing_of"]


def is_for_table(contract: Contract) -> bool:
    """Whether labels alone decide, and who made a step."""
    return contract.needs_more_than_labels in {"", "gates"}


def is_for_columns(contract: Contract) -> bool:
    """Whether besides that a label is enough to tell which event a message is: no line of the events looks further."""
    return is_for_table(contract) and not any(line.guards for line in labeller_of(contract).lines or ())


class Judge(ABC):
    """Judges runs and counts what it sees."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        self.contract = contract
        self.protocol = contract.protocol_name(protocol)
        self.tally = Tally(files=1)
        self.projection = projection_of(contract, protocol)
        self._taken: dict[Standing, dict[tuple[Direction, str], int]] = {}
        self._groups: dict[Status, tuple[list[Group], dict[tuple[str, str], Group]]] = {
            "violating": (self.tally.violations, {}),
            "incomplete": (self.tally.owed, {}),
        }

    @abstractmethod
    def judge(self, run: Run) -> Verdict:
        """What the contract says of a run.

        Raises `UsageError` if it cannot say anything: a time was not recorded, a partner not named.
        """

    def finish(self) -> Tally:
        """Everything that was counted."""
        self._count_taken()
        return self.tally

    def add_broken(self, broken: Broken) -> None:
        """Count what could not be read, or not be judged."""
        self.tally.broken += 1
        if len(self.tally.first_broken) < MOST_BROKEN:
            self.tally.first_broken.append(broken)

    def skip(self, outcome: Outcome, kind: Kind, name: str | None, times: int = 1) -> None:
        """Count messages that are to be ignored, or that nobody looks at."""
        if outcome == "ignored":
            self.tally.ignored += times
        else:
            count(self.tally.unmatched, kind if name is None else f"{kind} {name}", times)

    def note(self, status: Status, run: str, breach: Breach, runs: int = 1, followed: int = 0) -> None:
        """Count what was refused first or owed in a run, or in several alike, of which it is the shortest.

        `followed` is how many more were refused in these runs.
        """
        groups, known = self._groups[status]
        note(groups, known, run, breach, runs, followed)

    def count(self, judged: Judged, seen: Seen) -> None:
        """Count what became of a message."""
        message, projected, verdict, before = judged[:4]
        self.tally.waited += judged.waited and not isinstance(verdict, Violation)
        if verdict is None or before is None:
            return  # it is no event
        if isinstance(verdict, Blocked):
            raise UsageError(f"message {message.index} cannot be judged: {verdict.reason}")
        event = projected.event
        if event is not None:
            book = before.stage.stages.book
            if len(self.tally.exercised) < len(book.machines):
                _count_rules(self.tally, applied_rules(book, before.rules, event))
        if isinstance(verdict, Violation):
            if seen.first is None or judged.place < seen.place:  # what waited is judged late
                seen.first, seen.place = Breach(refused_by(verdict), message.index, seen.events), judged.place
            seen.refused += 1
            word = _word_of(event or Event("!", message.name or ""), message.kind, message.name)
            if word.is_action:
                count(self.tally.blocked, word.text)
        elif event is not None and not event.to_rules:
            self._count_step(standing_of(before, event), event)
        seen.events += 1

    def _count_step(self, standing: Standing, event: Event) -> None:
        """Count a step; which edges it can have taken is the same each time and worked out later."""
        taken = self._taken.setdefault(standing, {})
        taken[event[:2]] = taken.get(event[:2], 0) + 1
        if len(self._taken) > _MOST_STANDINGS:
            self._count_taken()

    def _count_taken(self) -> None:
        """Count the edges of the steps."""
        for standing, taken in self._taken.items():
            for (direction, label), number in taken.items():
                _count_edges(self.tally, standing, Event(direction, label), number)
        self._taken.clear()

    def verdict(self, run: Run, breach: Breach | None, status: Status, events: int, refused: int) -> Verdict:
        """The verdict, counted."""
        self.tally.statuses[status] += 1
        self.tally.events += events
        self.tally.refused += refused
        if breach is not None:
            self.note(status, run.key, breach, followed=max(refused - 1, 0))
        return Verdict(run.key, "", status, breach, run.line, events, refused, run.metadata)


@dataclass(slots=True)
class Seen:
    """What was seen of one run so far."""

    events: int = 0
    refused: int = 0
    first: Breach | None = None
    place: int = 0
    """How much had happened in the run before that."""
    at: Time | None = None


def _word_of(event: Event, kind: Kind, name: str | None) -> Word:
    """The word of messages of a kind and name that are this event."""
    return Word(event, name if kind == "call" else None, said=kind in SPEAKERS)


_SKIPPED = -1
_MOST_STANDINGS = 4_096
"""So many standings are kept until their edges are counted."""


@dataclass(slots=True)
class _Entry:
    """What messages of one kind and name are, and how often they came.

    A message has the column of the first of the `tests` that it passes, and how often each was passed is counted. It
    has `column` if it passes none, as all have where nothing else matters. `_SKIPPED` is that of what nobody looks at.
    """

    column: int
    outcome: Outcome
    tests: Sequence[tuple[Test, int, int]] | None
    """Each with its column and its place in `passed`."""
    outcomes: Sequence[Outcome]
    passed: list[int]
    is_call: bool
    is_error: bool
    idle: bool
    """Whether nothing of them can matter, so that they need not be looked at while nothing is out."""
    times: int = 0

    def skipped(self) -> Iterator[tuple[Outcome, int]]:
        """How often messages were no events, and why."""
        found = [(self.outcome, self.column, self.times - sum(self.passed))]
        found += [(self.outcomes[place], column, self.passed[place]) for _, column, place in self.tests or ()]
        for outcome, column, times in found:
            if times and (column == _SKIPPED or outcome == "unknown call"):
                yield outcome, times


class TableJudge(Judge):
    """Judges by look-ups in a table that grows: what a message is by its kind and name, what it does by the row."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        super().__init__(contract, protocol)
        self.steps = Steps(contract, self.protocol)
        self._visits: list[list[int]] = []
        self._entries: dict[str, dict[str | None, _Entry]] = {kind: {} for kind in KINDS}

    def column_of(self, projected: Projected, kind: Kind, name: str | None) -> int:
        """The column of messages that are that; `_SKIPPED` if they are not looked at."""
        event = projected.event
        if projected.outcome == "unknown call":
            return self.steps.column(Word(Event("!", name or ""), known=False))
        if event is None:
            return _SKIPPED
        if event.by is not None and not self.projection.gated:
            event = event._replace(by=None)
        return self.steps.column(_word_of(event, kind, name))

    def _entry(self, kind: Kind, name: str | None) -> _Entry:
        possible = self.projection.possible(kind, name)
        (_, otherwise), tested = possible[-1], possible[:-1]
        tests = [
            (test, self.column_of(projected, kind, name), place)
            for place, (test, projected) in enumerate(tested)
            if test is not None
        ]
        made = _Entry(
            self.column_of(otherwise, kind, name),
            otherwise.outcome,
            tests or None,
            [projected.outcome for _, projected in tested],
            [0] * len(tested),
            kind == "call",
            kind == "error",
            not tested and self.projection.is_idle(kind, name),
        )
        self._entries[kind][name] = made
        return made

    def judge(self, run: Run) -> Verdict:  # noqa: C901, PLR0912, PLR0915 - the loop of an audit, which calls nothing that it need not
        """One look-up per event; where calls are out at the same time, as a guard would have decided."""
        steps, entries = self.steps, self._entries
        rows, visits = steps.rows, self._visits
        messages, seen = run.messages, Seen()
        row = 0
        replay: Replay | None = None
        passed_over = -1
        untold: bool | None = None
        alone = False
        message = None
        for place, message in enumerate(messages):
            entry = entries[message.kind].get(message.name)
            if entry is None:
                entry = self._entry(message.kind, message.name)
            entry.times += 1
            if entry.idle and replay is None:
                continue
            column = entry.column
            if entry.tests is not None:
                for test, tested, number in entry.tests:
                    if test(message):
                        entry.passed[number] += 1
                        column = tested
                        break
            if entry.is_call:
                alone = is_alone(messages, place)
                if not alone:
                    untold = not speaks_of_ends(messages) if untold is None else untold
                    alone = untold
                if not alone and replay is None:
                    replay = Replay(self.contract, self.protocol, begun=steps.situations[row], place=place)
            elif entry.is_error and replay is None:  # what it means stands in the contract, also if nobody saw the call
                replay = Replay(self.contract, self.protocol, begun=steps.situations[row], place=place)
            if replay is not None:
                for judged in replay.happen(message, alone=alone):
                    self.count(judged, seen)
                if replay.is_quiet:
                    row, replay = steps.row(replay.calls.settled), None
                continue
            if column < 0 or place == passed_over:
                continue
            try:
                visits[row][column] += 1
            except IndexError:
                self._make_room(row, column)
            code = rows[row][column]
            if code < 0:
                code = steps.work_out(row, column)
            if code & 1:
                if seen.first is None:
                    seen.first, seen.place = Breach(steps.refusal(row, column), message.index, seen.events), place
                seen.refused += 1
                if entry.is_call and not untold and not message.labelled:  # it would not have run, nor have ended
                    passed_over = place + 1
            row = code >> 1
            seen.events += 1
        self.tally.messages += 0 if message is None else message.index + 1
        for judged in () if replay is None else replay.finish():
            self.count(judged, seen)
        if seen.first is not None:
            return self.verdict(run, seen.first, "violating", seen.events, seen.refused)
        status, owed = steps.closing(row) if replay is None else ending(*replay.close(None))
        return self.verdict(run, None if owed is None else Breach(owed, None, seen.events), status, seen.events, 0)

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
                for outcome, times in entry.skipped():
                    self.skip(outcome, kind, name, times)
        for row, visited in enumerate(self._visits):
            for column, number in enumerate(visited):
                if number:
                    count_place(self.tally, self.steps, row, column, number)
        return super().finish()


def count_place(tally: Tally, steps: Steps, row: int, column: int, number: int) -> None:
    """Count what a place of the table, looked up so often, has exercised, or would have blocked."""
    word = steps.words[column]
    event, refused = word.event, steps.rows[row][column] & 1
    if refused and word.is_action:
        count(tally.blocked, word.text, number)
    if not word.known:
        return
    stage = steps.situations[row].stage
    _count_rules(tally, applied_rules(stage.stages.book, stage.rules, event))
    if not refused and not event.to_rules:
        _count_edges(tally, stage.standing, event, number)


def _count_rules(tally: Tally, rules: list[int]) -> None:
    if not set(rules) <= set(tally.exercised):
        tally.exercised = sorted({*tally.exercised, *rules})


def _count_edges(tally: Tally, standing: Standing, event: Event, number: int) -> None:
    for state, symbol in edges_taken(standing, event):
        edge = f"{state}/{symbol}"
        tally.traffic[edge] = tally.traffic.get(edge, 0) + number


@dataclass(slots=True)
class _Passed:
    """What messages of one kind and name are if they are idle, and how often they came; `None` if they are not."""

    outcome: Outcome | None
    times: int = 0


class StepJudge(Judge):
    """Judges by the steps of the monitor."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        super().__init__(contract, protocol)
        self._passed: dict[tuple[Kind, str | None], _Passed] = {}

    def judge(self, run: Run) -> Verdict:
        """As a guard would have decided."""
        replay, seen, tally = Replay(self.contract, self.protocol), Seen(), self.tally
        passed, messages = self._passed, run.messages
        project = replay.projection.event
        untold: bool | None = None
        calls = 0
        quiet = True
        for place, message in enumerate(messages):
            kind = message.kind
            is_call = kind == "call"
            calls += is_call
            known = passed.get((kind, message.name)) or self._pass(kind, message.name)
            if known.outcome is not None and quiet:
                known.times += 1
                continue
            replay.place = place
            alone = is_call and is_alone(messages, place)
            if is_call and not alone:
                untold = not speaks_of_ends(messages) if untold is None else untold
                alone = untold
            if quiet and replay.takes_at_once(kind, alone=alone):
                projected = project(message, skim=True)
                if projected.event is None and not is_call:
                    self.skip(projected.outcome, kind, message.name)
                    continue
                self._see(replay.at_once(message, projected), seen)
            else:
                for judged in replay.happen(message, alone=alone):
                    self._see(judged, seen)
            quiet = replay.is_quiet
        for judged in replay.finish():
            self._see(judged, seen)
        tally.calls += calls
        tally.messages += messages[-1].index + 1 if messages else 0
        if seen.first is not None:
            return self.verdict(run, seen.first, "violating", seen.events, seen.refused)
        status, owed = ending(*replay.close(seen.at))
        return self.verdict(run, None if owed is None else Breach(owed, None, seen.events), status, seen.events, 0)

    def _see(self, judged: Judged, seen: Seen) -> None:
        outcome, event, _, _ = judged.projected
        if event is None:
            self.skip(outcome, judged.happened.kind, judged.happened.name)
        elif self.projection.is_timed:
            seen.at = event.at
        self.count(judged, seen)

    def _pass(self, kind: Kind, name: str | None) -> _Passed:
        ((_, projected), *others) = self.projection.possible(kind, name)
        idle = not others and self.projection.is_idle(kind, name)
        made = self._passed[kind, name] = _Passed(projected.outcome if idle else None)
        return made

    def finish(self) -> Tally:
        """Add what was passed over."""
        for (kind, name), passed in self._passed.items():
            if passed.outcome is not None and passed.times:
                self.skip(passed.outcome, kind, name, passed.times)
        return super().finish()


def standing_of(situation: Situation, event: Event) -> Standing:
    """Where the protocol stood, or the event's instance of it, when the event came: time had passed until then."""
    if situation.stage.stages.is_timed:
        situation, _ = tick(situation, "refuse", None, event.at)
    stage, held = situation.stage, situation.holding
    if stage.stages.sliced is None or not isinstance(held, Extent):
        return stage.standing
    return Refusal(stage, event, extent=held, belongs=belonging(stage, event)).standing
