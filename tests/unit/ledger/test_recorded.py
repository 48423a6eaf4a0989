from __future__ import annotations

import json
from collections import Counter, UserDict
from datetime import UTC, datetime, timedelta

import pytest
from tests.ledgers import check
from tests.racing import THREADS, all_at_once, frantic_switching

from accord import (
    UNRECOGNIZED,
    Blocked,
    Ledger,
    MemorySink,
    Monitor,
    Ok,
    RecordedMonitor,
    UsageError,
    Violation,
    compile,
)

PAY = """
protocol Pay = ?Quote(total as t).rec Ask.{?Approval by human.Ask, !Pay(amount <= t).?Receipt.end}
rule "approved" { before each Pay(amount > 100) require Approval by human }
"""


class Failing(MemorySink):
    """A sink that can be told to fail."""

    failing: BaseException | None = None

    def write(self, start, line):
        if self.failing is not None:
            raise self.failing
        super().write(start, line)


def recorded(contract, *, mode="halt", session="s1", **options):
    sink = Failing()
    return RecordedMonitor(Monitor(contract, mode=mode, **options), Ledger(sink), session=session), sink


def entries(sink):
    assert check(sink.data).ok
    found = [json.loads(line)["entry"] for line in sink.data.splitlines()[1:]]
    for entry in found:
        for name in ("act", "prev", "seq", "contract"):
            del entry[name]
    return found


def test_everything_is_recorded_with_its_answer():
    session, sink = recorded(PAY, mode="refuse")
    assert session.receive("Quote", {"total": 250}, at=1.5) == Ok()
    refused = session.send("Pay", {"amount": 200})
    assert isinstance(refused, Violation)
    asked = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert session.receive("Approval", by="ana", at=asked, meta={"shown": "Pay 200?"}) == Ok()
    unclear = session.receive(UNRECOGNIZED)
    assert session.send("Pay", {"amount": 200}) == Ok()
    owed = session.close()
    over = session.send("Pay")
    always = {"protocol": "Pay", "session": "s1"}
    assert entries(sink) == [
        {**always, "event": "?Quote", "payload": {"total": 250}, "at": 1.5, "verdict": "ok"},
        {**always, "event": "!Pay", "payload": {"amount": 200}, "verdict": "violation", "clause": 'rule "approved"',
         "expected": refused.expected, "explanation": refused.explain()},
        {**always, "event": "?Approval by ana", "by": "ana", "at": "2026-01-02T03:04:05+00:00",
         "meta": {"shown": "Pay 200?"}, "verdict": "ok"},
        {**always, "event": "?Unrecognized", "verdict": "unrecognized", "expected": unclear.expected,
         "explanation": unclear.explain()},
        {**always, "event": "!Pay", "payload": {"amount": 200}, "verdict": "ok"},
        {**always, "event": "end", "verdict": "violation", "clause": "protocol Pay", "expected": ["?Receipt"],
         "explanation": owed.explain()},
        {**always, "event": "!Pay", "verdict": "blocked", "explanation": over.reason},
    ]  # fmt: skip
    assert session.trace == [entry["event"] for entry in entries(sink) if entry["event"] != "end"]


def test_the_contract_is_named_by_its_digest():
    session, sink = recorded("!a.end")
    session.send("a")
    assert json.loads(sink.data.splitlines()[1])["entry"]["contract"] == session.contract.digest
    assert "protocol" not in json.loads(sink.data.splitlines()[1])["entry"]


MOVES = [("send", "a"), ("receive", "b"), ("send", "x"), ("receive", UNRECOGNIZED), ("send", UNRECOGNIZED)]


@pytest.mark.parametrize("mode", ["halt", "refuse"])
@pytest.mark.parametrize("contract", ["!a.?b.end", "{B!a.?b.end, C!a.end}", "(rec X.!a.?b.X | ?b.end)", PAY])
def test_answers_are_those_of_the_monitor(contract, mode):
    compiled = compile(contract)
    plain = Monitor(compiled, mode=mode)
    session, sink = recorded(compiled, mode=mode)

    def both(act):
        answers = []
        for one in (plain, session):
            try:
                answers.append(act(one))
            except UsageError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]
        assert getattr(answers[0], "position", None) == getattr(answers[1], "position", None)
        for name in ("trace", "status", "current_state", "is_terminal", "is_halted", "mode", "protocol", "contract"):
            assert getattr(plain, name) == getattr(session, name), name
        assert plain.allowed() == session.allowed()
        assert plain.snapshot() == session.snapshot()

    for act, label in [*MOVES, *MOVES[::-1]]:
        both(lambda one, act=act, label=label: getattr(one, act)(label))
        both(lambda one, act=act, label=label: getattr(one, f"peek_{act}")(label))
    both(lambda one: one.send("a", to="B"))
    both(lambda one: one.receive("b", sender="B", by="ana"))
    both(lambda one: one.close())
    both(lambda one: one.close())
    both(lambda one: one.send("a"))
    assert len(entries(sink)) == 15


@pytest.mark.parametrize("failing", [OSError(28, "No space left on device"), RuntimeError("gone"), MemoryError()])
def test_what_cannot_be_recorded_does_not_happen(failing):
    session, sink = recorded("!a.?b.end")
    session.send("a")
    before, snapshot = sink.data, session.snapshot()
    sink.failing = failing
    for act in (lambda: session.receive("b"), lambda: session.send("x"), session.close, lambda: session.send(3)):
        verdict = act()
        assert isinstance(verdict, Blocked)
        assert verdict.reason.startswith("the ledger cannot be written (")
        assert session.snapshot() == snapshot
        assert session.trace == ["!a"]
        assert sink.data == before
    assert str(getattr(failing, "strerror", None) or failing or "MemoryError") in verdict.reason
    sink.failing = None
    assert session.receive("b") == Ok(), "once the ledger can be written again, the session goes on"
    assert len(entries(sink)) == 2


def test_an_interrupt_while_writing_moves_nothing():
    session, sink = recorded("!a.?b.end")
    sink.failing = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        session.send("a")
    sink.failing = None
    assert session.send("a") == Ok()
    assert len(entries(sink)) == 1


def test_a_closed_ledger_blocks(tmp_path):
    from accord import FileSink

    ledger = Ledger(FileSink(tmp_path / "ledger"))
    session = RecordedMonitor(Monitor("!a.end"), ledger)
    ledger.close()
    assert session.send("a") == Blocked("the ledger cannot be written (the ledger is closed)")


@pytest.mark.parametrize(
    ("act", "given"),
    [
        (lambda s: s.send(3), {"label": 3}),
        (lambda s: s.send(""), {"label": ""}),
        (lambda s: s.send("a", [1]), {"label": "a", "payload": [1]}),
        (lambda s: s.send("a", to="not a name"), {"label": "a", "to": "not a name"}),
        (lambda s: s.send("a", to=object), {"label": "a", "to": {"$accord": "object", "type": "builtins.type",
                                                                 "repr": "<class 'object'>"}}),
        (lambda s: s.receive("a", by=7), {"label": "a", "by": 7}),
        (lambda s: s.receive(None, sender="B"), {"sender": "B"}),
        (lambda s: s.send("a", meta=[1]), {"label": "a", "meta": [1]}),
        (lambda s: s.send("a", at=True), {"label": "a", "at": True}),
        (lambda s: s.send("a", at=[1]), {"label": "a", "at": [1]}),
        (lambda s: s.close(meta=3), {"meta": 3}),
    ],
)  # fmt: skip
def test_misuse_is_raised_and_recorded(act, given):
    session, sink = recorded("!a.end")
    with pytest.raises(UsageError) as raised:
        act(session)
    (entry,) = entries(sink)
    assert (entry["verdict"], entry["explanation"], entry["given"]) == ("misuse", str(raised.value), given)
    assert session.trace == []
    assert session.send("a") == Ok()


def test_a_payload_that_a_clause_cannot_read_is_misuse():
    session, sink = recorded("!a(x == 1).end")
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(UsageError):
        session.send("a", {"x": cycle})
    (entry,) = entries(sink)
    assert entry["given"]["payload"] == {"x": [{"$accord": "cycle", "up": 1}]}


ODD = [float("nan"), 10**5000, "\ud800", {1: 2}, b"x", {1, 2}, object(), [[[[[[]]]]]], "x" * 2_000_000]


@pytest.mark.parametrize("value", ODD, ids=lambda v: type(v).__name__)
def test_whatever_a_payload_holds_is_recorded(value):
    session, sink = recorded("!a.end")
    assert session.send("a", {"x": value}, meta={"m": value}) == Ok()
    assert len(entries(sink)) == 1


@pytest.mark.parametrize("label", ["\ud800", "\x1b[31m", "x" * 3_000_000, '"\\'])
def test_whatever_a_label_is_it_is_recorded(label):
    session, sink = recorded("!a.end", mode="refuse")
    assert isinstance(session.send(label), Violation)
    assert isinstance(session.receive("b", by=label), Violation)
    assert len(entries(sink)) == 2


def test_a_payload_is_recorded_as_it_was():
    session, sink = recorded("rec X.!a.X")
    payload = {"items": [1]}
    session.send("a", payload)
    payload["items"].append(2)
    session.send("a", payload)
    session.send("a", UserDict(payload))
    assert [entry["payload"]["items"] for entry in entries(sink)] == [[1], [1, 2], [1, 2]]


def test_what_is_judged_is_what_is_recorded():
    """A payload that changes each time it is looked at is looked at once."""

    class Shifty(UserDict):
        looks = 0

        def __getitem__(self, key):
            self.looks += 1
            return self.looks

    session, sink = recorded("!a(x == 1).end")
    assert session.send("a", Shifty(x=0)) == Ok()
    assert entries(sink)[0]["payload"] == {"x": 1}


def test_a_payload_that_cannot_be_read_is_misuse():
    class Hostile(UserDict):
        def __iter__(self):
            raise RuntimeError("no")

        keys = items = __getitem__ = __contains__ = __iter__

    session, sink = recorded("!a(x == 1).end")
    with pytest.raises(UsageError, match="cannot be read"):
        session.send("a", Hostile(x=1))
    assert entries(sink)[0]["given"]["payload"]["$accord"] == "unreadable"


def test_steps_past_the_recorder_are_not_hidden():
    """Somebody moves the monitor between asking and taking the step: both answers are recorded, the true one given."""
    monitor = Monitor("!a.!b.end", mode="refuse")

    class Meddling(MemorySink):
        armed = False

        def write(self, start, line):
            super().write(start, line)
            if self.armed:
                self.armed = False
                monitor.send("a")

    sink = Meddling()
    session = RecordedMonitor(monitor, Ledger(sink), session="s")
    sink.armed = True
    verdict = session.send("a")
    assert isinstance(verdict, Violation)
    assert [entry["verdict"] for entry in entries(sink)] == ["ok", "violation"]


def test_a_bug_inside_is_a_recorded_no():
    session, sink = recorded("!a.end")

    class Broken(Monitor):
        __slots__ = ()

        def peek_send(self, *_):
            raise ZeroDivisionError

    session._monitor = Broken("!a.end")
    verdict = session.send("a")
    assert isinstance(verdict, Blocked)
    assert entries(sink)[0]["verdict"] == "blocked"
    assert session.trace == []


def test_sessions_have_names():
    ledger = Ledger(MemorySink())
    one, two = (RecordedMonitor(Monitor("!a.end"), ledger) for _ in range(2))
    assert one.session != two.session
    assert repr(one) == f"<RecordedMonitor {one.session} of <Monitor (bare) at 0: running>>"
    assert one.ledger is ledger
    for name in ("", 3, b"x"):
        with pytest.raises(UsageError, match="a session is named"):
            RecordedMonitor(Monitor("!a.end"), ledger, session=name)


def test_only_a_monitor_is_recorded_and_only_in_a_ledger():
    for monitor, ledger in [("!a.end", Ledger(MemorySink())), (Monitor("!a.end"), MemorySink())]:
        with pytest.raises(UsageError, match="is recorded in a `Ledger`"):
            RecordedMonitor(monitor, ledger)


def test_a_session_goes_on_after_a_restart():
    session, sink = recorded("!a.?b.end")
    session.send("a")
    again = RecordedMonitor(
        Monitor.restore("!a.?b.end", session.snapshot()), Ledger(MemorySink(sink.data)), session="s1"
    )
    assert again.receive("b") == Ok()


def test_one_shot_actions_are_recorded_once():
    contract = compile("!Once.end")
    sink = MemorySink()
    ledger = Ledger(sink)
    with frantic_switching():
        for number in range(60):
            session = RecordedMonitor(Monitor(contract, mode="refuse"), ledger, session=str(number))
            verdicts = all_at_once(lambda _, s=session: s.send("Once"))
            assert Counter(type(v) for v in verdicts) == {Ok: 1, Violation: THREADS - 1}
    counted = Counter((entry["session"], entry["verdict"]) for entry in entries(sink))
    assert all(counted[str(number), "ok"] == 1 for number in range(60))
    assert counted.total() == 60 * THREADS


def test_many_sessions_share_a_ledger():
    sink = MemorySink()
    ledger = Ledger(sink)
    contract = compile("rec X.!a.?b.X")

    def work(number):
        session = RecordedMonitor(Monitor(contract), ledger, session=str(number))
        for _ in range(30):
            session.send("a", {"n": number}), session.receive("b")
        return session.trace

    with frantic_switching():
        traces = all_at_once(work)
    for number, trace in enumerate(traces):
        assert [entry["event"] for entry in entries(sink) if entry["session"] == str(number)] == trace


def test_time_is_told_to_the_monitor_and_recorded():
    session, sink = recorded("!Ask.?Reply within 5s else !Remind.end", mode="refuse")
    start = datetime(2026, 1, 2, tzinfo=UTC)
    assert session.send("Ask", at=start) == Ok()
    assert session.next_due() == start.timestamp() + 5
    assert session.tick(start + timedelta(seconds=6)) == Ok()
    assert isinstance(session.receive("Reply", at=start + timedelta(seconds=6)), Violation)
    with pytest.raises(UsageError, match="needs `at=`"):
        session.send("Remind")
    with pytest.raises(UsageError, match="time zone"):
        session.send("Remind", at=datetime(2026, 1, 3))  # noqa: DTZ001 - that is the mistake
    assert session.send("Remind", at=start.timestamp() + 7) == Ok()
    assert session.close(at=start + timedelta(seconds=8)) == Ok()
    told = [(entry["event"], entry["verdict"], entry.get("at")) for entry in entries(sink)]
    assert told == [
        ("!Ask", "ok", "2026-01-02T00:00:00+00:00"),
        ("tick", "ok", "2026-01-02T00:00:06+00:00"),
        ("?Reply", "violation", "2026-01-02T00:00:06+00:00"),
        ("!", "misuse", None),
        ("!", "misuse", None),
        ("!Remind", "ok", start.timestamp() + 7),
        ("end", "ok", "2026-01-02T00:00:08+00:00"),
    ]


def test_a_rule_that_is_late_is_recorded_when_time_passes():
    session, sink = recorded('rule "in time" { within 1h after Request require Approval }')
    session.receive("Request", at=0)
    late = session.tick(3601)
    assert isinstance(late, Violation)
    assert isinstance(session.tick(3602), Blocked)
    assert [(entry["event"], entry["verdict"], entry.get("clause")) for entry in entries(sink)] == [
        ("?Request", "ok", None),
        ("tick", "violation", 'rule "in time"'),
        ("tick", "blocked", None),
    ]
