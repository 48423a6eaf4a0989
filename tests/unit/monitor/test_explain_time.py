"""What a refusal says about time: what is due until when, what was late, and by how much."""

import pytest

import accord
from accord import Blocked, Limits, Monitor, Violation
from accord.monitor.wording import span_text, time_text

ASK = "protocol A = !Ask.?{Yes, No.end} within 24h else !Remind.!Go.end"
DAY = 86400


def session(contract, *events, at=0):
    """A session in which these things have happened, and the verdict on the last."""
    monitor = Monitor(contract, mode="refuse", at=at)
    verdict = None
    for when, word, *payload in events:
        if word == "tick":
            verdict = monitor.tick(when)
        elif word == "end":
            verdict = monitor.close(when)
        else:
            act = monitor.send if word[0] == "!" else monitor.receive
            verdict = act(word[1:], *payload, at=when)
    return monitor, verdict


def refused(contract, *events, at=0):
    _, verdict = session(contract, *events, at=at)
    assert isinstance(verdict, Violation)
    text = verdict.explain()
    assert text.endswith(".")
    return text


class TestDeadlines:
    def test_what_is_due_until_when(self):
        assert refused(ASK, (2, "!Ask"), (5, "!Go")) == (
            "`Go` is not allowed yet: first wait for `Yes`, then `Go`. It is due until 86402 (in 23h 59m)."
        )

    def test_at_the_last_moment(self):
        assert "until 86402 (now)." in refused(ASK, (2, "!Ask"), (86402, "!Go"))

    def test_too_late(self):
        assert refused(ASK, (2, "!Ask"), (90000, "?Yes")) == (
            "`Yes` is too late: it was due until 86402, and it is 90000, 59m 58s later. Allowed now: `Remind`."
        )

    def test_what_was_late_before_is_not_told_again(self):
        text = refused(ASK, (2, "!Ask"), (90000, "tick"), (90000, "?Yes"))
        assert text == "`Yes` is not allowed: it can no longer happen in this session. Allowed now: `Remind`."

    def test_what_becomes_legal_by_waiting(self):
        assert "first `Ask`, then wait 24h without `No` or `Yes`, then `Remind`." in refused(ASK, (1, "!Remind"))
        assert "first wait until 86402 without `No` or `Yes`, then `Remind`." in refused(
            ASK, (2, "!Ask"), (5.5, "!Remind")
        )

    def test_waiting_is_only_told_where_nothing_else_helps(self):
        contract = "?a.?b within 5s else !x.!c.end"
        assert "first wait for `b`, then `c`." in refused(contract, (0, "?a"), (0, "!c"))

    def test_no_way_leads_through_a_rule_that_would_be_late(self):
        rule = 'rule "r" { within 1h after Ask require Yes }'
        assert "first" not in refused(f"{ASK}\n{rule}", (2, "!Ask"), (3, "!Remind")).lower()

    def test_a_loop_that_comes_round_by_being_late(self):
        contract = "rec L.!Ask.?Reply within 1h else L"
        text = refused(contract, (0, "!Ask"), (1, "!Ask"))
        assert "first wait until 3600 without `Reply`, then `Ask`." in text

    def test_one_part_of_several(self):
        contract = "(!a within 5s else !x | !b).!c.end"
        assert "Allowed now: `a` or `b`; `a` only until 5 (in 5s)." in refused(contract, (0, "!c"))

    def test_closing(self):
        assert refused(ASK, (2, "!Ask"), (5, "end")) == (
            "The session cannot end here: still owed is `No` or `Yes`, until 86402 (in 23h 59m)."
        )

    def test_a_deadline_of_an_instance(self):
        contract = "protocol T = each id: !Ask.?Yes within 24h else end"
        text = refused(contract, (0, "!Ask", {"id": 1}), (50, "!Ask", {"id": 2}), (60, "!Ask", {"id": 1}))
        assert "Now for `id 1` wait for `Yes`, until 86400 (in 23h 59m)." in text
        text = refused(contract, (0, "!Ask", {"id": 1}), (DAY + 60, "?Yes", {"id": 1}))
        assert text.startswith("`Yes` is too late for `id 1`: it was due until 86400, and it is 86460, 1m later.")

    def test_an_instance_that_has_not_begun_has_no_clock(self):
        contract = "protocol T = each id: ?Yes within 24h else !Remind.end"
        text = refused(contract, (5, "!Remind", {"id": 1}))
        assert "until" not in text
        assert "pass without" not in text


class TestRules:
    RULE = 'rule "in time" { within 24h after Request require Kyc and Approval by human }'

    def test_an_event_that_finds_a_rule_overdue(self):
        assert refused(self.RULE, (0, "!Request"), (5, "!Kyc"), (DAY + 3600, "!Pay")) == (
            "`Pay` is not taken, and was not judged: "
            "the rule `in time` (`within 24h after Request require Kyc and Approval by human`) "
            "is overdue: it was due until 86400, and it is 90000, 1h later; since `Request`, `Kyc` has happened, "
            "`Approval by human` has not happened."
        )

    def test_a_tick_that_finds_a_rule_overdue(self):
        text = refused(self.RULE, (0, "!Request"), (86400.25, "tick"))
        assert text.startswith("The rule `in time` (`within 24h after")
        assert "is overdue: it was due until 86400, and it is 86400.25, 250ms later; since `Request`," in text

    def test_closing_that_finds_a_rule_overdue(self):
        text = refused(self.RULE, (0, "!Request"), (DAY + 1, "end"))
        assert text.startswith("The session cannot end here: the rule `in time` (")
        assert "is overdue: it was due until 86400, and it is 86401, 1s later;" in text

    def test_in_halt_mode_too(self):
        monitor = Monitor(self.RULE, at=0)
        monitor.send("Request", at=0)
        verdict = monitor.tick(DAY + 1)
        assert monitor.is_halted
        assert "is overdue" in verdict.explain()

    def test_others_that_were_late_at_the_same_time(self):
        contract = 'rule "a" { within 5s after Go require Done }\nrule "b" { each id: within 3s after Go require Done }'
        text = refused(contract, *[(0, "!Go", {"id": n}) for n in range(7)], (9, "tick"))
        assert "The rule `b` (`each id: within 3s after Go require Done`) is overdue for `id 0`: it was due" in text
        assert text.endswith(
            "Late too: `b` for `id 1`, due until 3; `b` for `id 2`, due until 3; `b` for `id 3`, due until 3; "
            "`b` for `id 4`, due until 3; 3 more."
        )

    def test_what_is_allowed_by_the_protocol_then(self):
        contract = 'protocol P = !Go.!Done.end\nrule "a" { within 5s after Go require Done }'
        assert refused(contract, (0, "!Go"), (9, "!Done")).endswith(
            "since `Go`, `Done` has not happened. Allowed now: `Done`."
        )

    def test_closing_with_something_due(self):
        assert refused(self.RULE, (0, "!Request"), (60, "end")) == (
            "The session cannot end here: still owed by `in time` (`within 24h after Request require Kyc and Approval "
            "by human`), due until 86400 (in 23h 59m)."
        )

    def test_closing_with_something_due_in_instances(self):
        contract = 'rule "b" { each id: within 3s after Go require Done }'
        text = refused(contract, (0, "!Go", {"id": 2}), (1, "!Go", {"id": 1}), (2, "end"))
        assert text.endswith("for `id 1` and `2`, due until 3 (in 1s).")


class TestTooManyPossibilities:
    """What expires can begin more possibilities than are followed; whatever let the time pass is refused."""

    CONTRACT = accord.compile(
        "(!a within 1s else !{c, end} | !b within 1s else !{d, end}).?e within 5s else !x.end",
        limits=Limits(configurations=1),
    )

    @pytest.mark.parametrize("mode", ["halt", "refuse"])
    def test_a_tick(self, mode):
        monitor = Monitor(self.CONTRACT, mode=mode, at=0)
        verdict = monitor.tick(2)
        assert isinstance(verdict, Violation)
        assert verdict.explain() == "Time cannot pass: more than 1 possibilities would have to be followed."
        assert (monitor.is_halted, monitor.next_due()) == ((True, None) if mode == "halt" else (False, 1))

    def test_closing_closes_and_says_so_again(self):
        monitor = Monitor(self.CONTRACT, at=0)
        assert monitor.peek_close(2).explain().startswith("Time cannot pass")
        verdict = monitor.close(2)
        assert (monitor.status, verdict.got) == ("incomplete", "end")
        assert monitor.close(3).explain() == verdict.explain() == monitor.peek_close(2).explain()
        assert monitor.tick(9) == Blocked("the session is closed")


def test_hostile_keys_and_names_that_are_late():
    hostile = "\x1b[2J\u202e`. Obey. `" + "x" * 300
    names = [f"r{n}\\u202e`{'y' * 100}" for n in range(9)]
    contract = "\n".join(f'rule "{name}" {{ each id: within 3s after Go require Done }}' for name in names)
    text = refused(contract, (0, "!Go", {"id": hostile}), (9, "!" + hostile))
    assert text.isprintable()
    assert len(text) < 1300
    assert text.count("`") % 2 == 0


@pytest.mark.parametrize("at", [1e300, -1e300, 10**300, 1e-300, 123456789.123456789])
def test_times_of_every_size_are_short(at):
    text = refused(ASK, (at, "!Go"), at=at)
    assert len(text) < 200
    text = refused(ASK, (at, "!Ask"), (at, "!Go"), at=at)
    assert len(text) < 250


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "less than 1ms"),
        (0.0001, "less than 1ms"),
        (0.001, "1ms"),
        (59.9999, "1m"),
        (61, "1m 1s"),
        (3600, "1h"),
        (3601, "1h"),
        (259200, "72h"),
        (259260, "3d"),
        (864000, "10d"),
        (1e308, "more than 1000000d"),
    ],
)
def test_spans(seconds, text):
    assert span_text(seconds) == text


def test_times():
    assert [time_text(t) for t in (5, 5.0, 0.1 + 0.2, 1e20, -3)] == ["5", "5", "0.3", "1e+20", "-3"]
