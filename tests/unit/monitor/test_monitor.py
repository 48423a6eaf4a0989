"""The monitor's interface. What it answers to which trace stands in tests/spec; here is everything around it."""

import copy
import pickle
from pathlib import Path

import pytest

import accord
from accord import ContractError, Limits, Monitor, Ok, Unrecognized, UsageError, Violation
from accord.monitor import Blocked

ASK = "!Ask.?{Answer, Refuse.end}.!Thanks"


class Text(str):
    __slots__ = ()


def state_of(monitor):
    return (
        monitor.trace,
        monitor.status,
        monitor.current_state,
        monitor.allowed(),
        monitor.is_terminal,
        monitor.is_halted,
    )


# -- making one ------------------------------------------------------------------------------------------------------


def test_from_text_file_or_contract(tmp_path):
    file = tmp_path / "ask.accord"
    file.write_text(ASK, encoding="utf-8")
    contract = accord.compile(ASK)
    for source in (ASK, file, contract):
        monitor = Monitor(source)
        assert monitor.allowed() == ["!Ask"]
        assert monitor.contract.digest == contract.digest
    assert Monitor(contract).contract is contract


def test_a_str_is_always_text_and_never_a_path(tmp_path):
    file = tmp_path / "ask.accord"
    file.write_text(ASK, encoding="utf-8")
    with pytest.raises(UsageError, match="text of a contract"):
        Monitor(str(file))


def test_a_file_that_is_not_there():
    with pytest.raises(UsageError, match="cannot read"):
        Monitor(Path("/nowhere/at/all.accord"))


@pytest.mark.parametrize("contract", [None, 7, b"!a", ["!a"]])
def test_what_is_no_contract(contract):
    with pytest.raises(UsageError, match="`str`"):
        Monitor(contract)


def test_a_contract_with_errors():
    with pytest.raises(ContractError, match="E021"):
        Monitor("!a.X")


@pytest.mark.parametrize("mode", ["strict", "", None, "HALT", ["halt"]])
def test_there_are_two_modes(mode):
    with pytest.raises(UsageError, match="mode is `halt` or `refuse`"):
        Monitor(ASK, mode=mode)


def test_one_of_several_protocols():
    text = "protocol Ask = !a\nprotocol Tell = !b"
    assert Monitor(text, protocol="Tell").protocol == "Tell"
    assert Monitor(text, protocol="Tell").allowed() == ["!b"]
    with pytest.raises(UsageError, match="say which"):
        Monitor(text)
    with pytest.raises(UsageError, match="did you mean `Tell`"):
        Monitor(text, protocol="Tel")
    with pytest.raises(UsageError, match="declares no protocol `Ask`"):
        Monitor("!a", protocol="Ask")


def test_sessions_of_one_contract_do_not_disturb_each_other():
    contract = accord.compile(ASK)
    one, two = Monitor(contract), Monitor(contract)
    one.send("Ask")
    two.send("Nonsense")
    assert (one.status, two.status) == ("running", "violated")
    assert one.receive("Answer") == Ok()


# -- labels that are no labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label", [Text("Ask"), b"Ask", None, "", 7, ("Ask",), ["Ask"], object()], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("call", ["send", "receive", "peek_send", "peek_receive"])
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_label_is_exactly_a_str(label, call, mode):
    monitor = Monitor(ASK, mode=mode)
    monitor.send("Ask")
    before = state_of(monitor)
    with pytest.raises(UsageError, match="a label"):
        getattr(monitor, call)(label)
    assert state_of(monitor) == before
    assert monitor.receive("Answer") == Ok()


@pytest.mark.parametrize("partner", ["", "not a name", "1st", "end", b"Bank", Text("Bank"), 7], ids=repr)
def test_a_partner_is_a_role_name(partner):
    monitor = Monitor("Bank!pay.Bank?paid")
    before = state_of(monitor)
    with pytest.raises(UsageError, match="a partner is a role name"):
        monitor.send("pay", to=partner)
    with pytest.raises(UsageError, match="a partner is a role name"):
        monitor.peek_receive("paid", sender=partner)
    assert state_of(monitor) == before


def test_an_ambiguous_partner_changes_nothing():
    monitor = Monitor("{B!x, C!x, D?y, E?y}")
    before = state_of(monitor)
    with pytest.raises(UsageError, match=r"could be with `B` or `C`; say `to=`"):
        monitor.send("x")
    with pytest.raises(UsageError, match=r"could be with `D` or `E`; say `sender=`"):
        monitor.peek_receive("y")
    assert state_of(monitor) == before
    assert monitor.send("x", to="C") == Ok()
    assert monitor.trace == ["C!x"]


def test_labels_of_any_characters_are_answered():
    monitor = Monitor(ASK, mode="refuse")
    for label in ("\ud800", "\x00", "a" * 100_000, "\u202e", "`", "end", "!Ask"):
        verdict = monitor.send(label)
        assert isinstance(verdict, Violation)
        assert len(verdict.explain()) < 1000
        assert verdict.explain().isprintable()


def test_partners_in_another_normal_form():
    monitor = Monitor("K\u00e4ufer!zahlen")
    assert monitor.send("zahlen", to="Ka\u0308ufer") == Ok()


# -- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_peeking_changes_nothing(mode):
    monitor = Monitor(ASK, mode=mode)
    for _ in range(3):
        before = state_of(monitor)
        assert monitor.peek_send("Ask") == Ok()
        assert monitor.peek_send("Thanks") == Violation(["!Ask"], "!Thanks")
        assert monitor.peek_receive("Unrecognized") == Unrecognized(["!Ask"], "receive")
        assert state_of(monitor) == before
    assert monitor.send("Ask") == Ok()


def test_peeking_on_a_halted_monitor():
    monitor = Monitor(ASK)
    monitor.send("Thanks")
    assert monitor.peek_send("Ask") == Blocked("monitor halted after a previous violation")


def test_what_is_returned_is_the_callers_own():
    monitor = Monitor(ASK)
    monitor.send("Ask")
    monitor.trace.append("!Forged")
    monitor.allowed().clear()
    verdict = monitor.peek_send("x")
    verdict.expected.clear()
    assert monitor.trace == ["!Ask"]
    assert monitor.allowed() == ["?Answer", "?Refuse"]
    assert verdict.expected == ["?Answer", "?Refuse"]


def test_the_state_is_a_number_or_a_text():
    monitor = Monitor("!a.(!b.!c | !d)")
    assert monitor.current_state == 0
    monitor.send("a")
    assert "|" in monitor.current_state
    assert "(bare)" in repr(monitor)
    assert "running" in repr(monitor)


# -- starting again and closing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [[], ["Ask"], ["Thanks"], ["Unrecognized"]])
def test_reset_starts_a_new_session(trouble):
    monitor = Monitor(ASK)
    fresh = state_of(monitor)
    for label in trouble:
        monitor.send(label)
    monitor.close()
    monitor.reset()
    assert state_of(monitor) == fresh
    assert monitor.send("Ask") == Ok()
    assert monitor.to_dict() == {"trace": ["!Ask"]}


def test_reset_after_restore_forgets_what_was_before():
    monitor = Monitor.restore(ASK, Monitor(ASK).snapshot())
    monitor.reset()
    assert monitor.to_dict() == {"trace": []}
    assert monitor.send("x").position == 0


def test_closing_twice_gives_the_same_answer_and_blocks_everything():
    monitor = Monitor(ASK)
    monitor.send("Ask")
    first = monitor.close()
    assert first == Violation(["?Answer", "?Refuse"], "end")
    assert monitor.close() == first
    assert monitor.receive("Answer") == Blocked("the session is closed")
    assert monitor.close() == first
    assert monitor.status == "incomplete"
    assert monitor.allowed() == []


def test_closing_a_complete_session():
    monitor = Monitor("!a")
    monitor.send("a")
    assert monitor.close() == monitor.close() == Ok()
    assert monitor.send("a") == Blocked("the session is closed")
    assert monitor.status == "complete"


def test_closing_leaves_the_trace_alone():
    monitor = Monitor("!a")
    monitor.close()
    assert monitor.trace == []


# -- refusing --------------------------------------------------------------------------------------------------------


def test_a_refusing_monitor_records_attempts_and_changes_nothing_else():
    monitor = Monitor(ASK, mode="refuse")
    assert monitor.mode == "refuse"
    assert isinstance(monitor.send("Thanks"), Violation)
    assert monitor.trace == ["!Thanks"]
    assert state_of(monitor)[1:] == state_of(Monitor(ASK))[1:]


# -- limits ----------------------------------------------------------------------------------------------------------


def test_too_many_possibilities_are_a_violation_that_says_so():
    contract = accord.compile("(!s.?a | !s.?b | !s.?c | !s.?d)", limits=Limits(configurations=4))
    monitor = Monitor(contract, mode="refuse")
    assert monitor.send("s") == Ok()
    verdict = monitor.send("s")
    assert verdict == Violation(["!s", "?a", "?b", "?c", "?d"], "!s")
    assert "more than 4 possibilities" in verdict.explain()
    assert monitor.receive("b") == Ok()


def test_the_limit_also_holds_for_unrecognized():
    contract = accord.compile(
        "(!Unrecognized.?a | !Unrecognized.?b | !Unrecognized.?c)", limits=Limits(configurations=2)
    )
    assert isinstance(Monitor(contract).send("Unrecognized"), Violation)


def test_few_remembered_standings_change_no_answer():
    text = "rec L.{!a.(!b | !c | ?d).L, ?e.L}"
    small = Monitor(accord.compile(text, limits=Limits(remembered_standings=1)), mode="refuse")
    large = Monitor(text, mode="refuse")
    for word in ["!a", "!c", "!x", "?d", "!b", "?e", "!a", "?d", "!b", "!c", "!c", "?e"] * 3:
        act = "send" if word[0] == "!" else "receive"
        assert getattr(small, act)(word[1:]) == getattr(large, act)(word[1:])
        assert small.allowed() == large.allowed()


def test_a_search_cut_short_promises_nothing():
    contract = accord.compile(".".join(f"!a{i}" for i in range(50)), limits=Limits(search=5))
    explanation = Monitor(contract).send("a40").explain()
    assert "`a40` is not allowed now" in explanation
    assert "first" not in explanation


# -- when something inside breaks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError("boom"), RecursionError(), MemoryError(), KeyError("x")], ids=repr)
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_if_anything_inside_fails_the_answer_is_no(monkeypatch, error, mode):
    def broken(*_):
        raise error

    monitor = Monitor(accord.compile(ASK), mode=mode)
    place = monitor.current_state
    with monkeypatch.context() as patch:
        patch.setattr("accord.monitor.monitor.step", broken)
        verdict = monitor.send("Ask")
        assert isinstance(verdict, Blocked)
        assert "accord failed inside" in verdict.reason
        assert isinstance(monitor.peek_receive("Answer"), Blocked)
    assert monitor.current_state == place
    assert monitor.trace == ["!Ask"]
    assert monitor.send("Ask") == Ok()


def test_if_closing_breaks_the_answer_is_no(monkeypatch):
    def broken(*_):
        raise RuntimeError("boom")

    monitor = Monitor("!a")
    monitor.send("a")
    monkeypatch.setattr("accord.monitor.monitor.close", broken)
    assert isinstance(monitor.close(), Blocked)


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_monitor_is_not_copied(duplicate):
    with pytest.raises(UsageError, match="snapshot"):
        duplicate(Monitor(ASK))


@pytest.mark.parametrize("name", ["booking.accord", "contracts/booking.accord", "./x.json", "C:\\x.accord"])
def test_the_name_of_a_file_is_not_taken_for_a_text(name):
    with pytest.raises(UsageError, match="write `Path"):
        Monitor(name)
    assert Monitor("!booking.?accord").allowed() == ["!booking"]
