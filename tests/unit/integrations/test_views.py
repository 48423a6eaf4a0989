"""`ToolMiddleware` and `MonitoredClient` in the agent's view, and labels that functions say."""

from __future__ import annotations

import asyncio
import json

import pytest

from accord import (
    Blocked,
    Ledger,
    LLMResponse,
    MemorySink,
    MemoryStore,
    Monitor,
    MonitoredClient,
    Ok,
    ProtocolViolationError,
    RecordedMonitor,
    StoredSession,
    ToolCall,
    ToolMiddleware,
    UsageError,
    Violation,
)


def refusing(contract):
    return Monitor(contract, mode="refuse")


def call(name, arguments=None, identity=""):
    return ToolCall(name, arguments or {}, identity)


# -- tools -------------------------------------------------------------------------------------------------------------


def test_a_call_is_sent_and_its_end_received():
    monitor = refusing("!search.?search.end")
    tools = ToolMiddleware(monitor, {"search": lambda city: {"city": city}}, view="agent")
    assert tools.execute(call("search", {"city": "Rome"}, "c1")).result == {"city": "Rome"}
    assert (monitor.trace, monitor.is_terminal) == (["!search", "?search"], True)
    assert not tools.execute(call("search", {"city": "Rome"}, "c2")).ok


def test_the_end_carries_what_it_carries_under_a_guard():
    contract = 'protocol P = !pay(amount as a).?pay(error == null, receipt == 7, call.amount == a, call_id == "c1").end'
    monitor = refusing(contract)
    tools = ToolMiddleware(monitor, {"pay": lambda **_: {"receipt": 7, "call": {"amount": 0}}}, view="agent")
    assert tools.execute(call("pay", {"amount": 5}, "c1")).ok
    assert monitor.is_terminal


def failing(error):
    def tool(**_):
        raise error

    return tool


def scripted(*outcomes):
    """A tool that returns these, one after the other, or raises them."""
    left = list(outcomes)

    def tool(**_):
        outcome = left.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return tool


def test_a_failure_that_has_happened_is_an_end_with_its_reason():
    fail = failing(ValueError("no"))
    monitor = refusing("tools { a fails done }\nprotocol P = !a.?{a(error == null).end, a(error != null).!b.end}")
    tools = ToolMiddleware(monitor, {"a": fail, "b": lambda: 1}, view="agent")
    assert tools.execute(call("a")).error == "ValueError: no"
    assert tools.execute(call("b")).ok


def test_the_events_of_the_contract_are_obeyed():
    contract = "events { Account when call get_account  Found when result of get_account where id != null }\n"
    monitor = refusing(contract + "protocol P = !Account.?Found.end")
    tools = ToolMiddleware(monitor, {"get_account": lambda: {"id": 3}, "other": lambda: 1}, view="agent")
    refused = tools.execute(call("other"))
    assert not refused.ok and "events name no such call" in refused.error
    assert tools.execute(call("get_account")).ok
    assert monitor.trace == ["!Account", "?Found"]


def sessions(contract):
    yield refusing(contract)
    yield RecordedMonitor(refusing(contract), Ledger(MemorySink()))


RESULTS_OF_RULES = """
protocol P = rec L.!{verify.L, pay.L, end}
rule "verified" { before !pay require ?verify(ok == true) }
"""


@pytest.mark.parametrize("number", range(2))
def test_a_result_that_only_a_rule_names_reaches_the_rule(number):
    session = list(sessions(RESULTS_OF_RULES))[number]
    answers = [False, True]
    tools = ToolMiddleware(session, {"verify": lambda: {"ok": answers.pop(0)}, "pay": lambda: "paid"}, view="agent")
    outcomes = [tools.execute(call(name)).ok for name in ("verify", "pay", "verify", "pay")]
    assert outcomes == [True, False, True, True]


def test_a_sliced_protocol_takes_the_key_from_the_call():
    monitor = refusing("protocol P = each order_id: !look.?look.!pay.end")
    tools = ToolMiddleware(monitor, {"look": lambda **_: "fine", "pay": lambda **_: 1}, view="agent")
    for order in (1, 2):
        assert tools.execute(call("look", {"order_id": order})).ok
    assert tools.execute(call("pay", {"order_id": 2})).ok
    assert not tools.execute(call("pay", {"order_id": 3})).ok


def test_tools_come_later_and_a_tool_that_does_not_exist_satisfies_nothing():
    monitor = refusing('rule "r" { before !b require !a }')
    tools = ToolMiddleware(monitor, {"b": lambda: 1}, view="agent")
    assert "there is no tool" in tools.execute(call("a")).error
    assert not tools.execute(call("b")).ok
    tools.register("a", lambda: 1)
    assert tools.execute(call("a")).ok and tools.execute(call("b")).ok


def test_the_calls_of_a_response_and_tools_that_are_waited_for():
    async def slow():
        return "done"

    monitor = refusing("(!a.?a | !b.?b)")
    tools = ToolMiddleware(monitor, {"a": slow, "b": slow}, view="agent")
    results = asyncio.run(tools.aprocess(LLMResponse(tool_calls=[call("a", {}, "1"), call("b", {}, "2")])))
    assert [result.result for result in results] == ["done", "done"]
    assert monitor.is_terminal


def test_a_refused_end_is_withheld():
    monitor = refusing("!a.?a(ok == true).end")
    tools = ToolMiddleware(monitor, {"a": lambda: {"ok": False, "secret": 1}}, view="agent")
    result = tools.execute(call("a"))
    assert not result.ok and result.withheld == {"ok": False, "secret": 1} and "secret" not in result.error


def test_a_session_that_halts_raises():
    tools = ToolMiddleware(Monitor("!a.end"), {"b": lambda: 1}, view="agent")
    with pytest.raises(ProtocolViolationError):
        tools.execute(call("b"))


def test_a_failed_call_is_taken_back_and_tried_again():
    monitor = refusing("!search.?search.!book.?book.end")
    search = scripted(TimeoutError("too slow"), "found")
    tools = ToolMiddleware(monitor, {"search": search, "book": lambda: "booked"}, view="agent")
    assert tools.execute(call("search", {}, "c1")).error == "TimeoutError: too slow"
    assert not tools.execute(call("book", {}, "c2")).ok
    assert tools.execute(call("search", {}, "c1")).ok and tools.execute(call("book", {}, "c3")).ok
    assert tools.close() == Ok() and monitor.trace == ["!book", "!search", "?search", "!book", "?book"]


ONCE = (
    'tools { pay fails unknown }\nprotocol P = rec L.{!pay.?pay.L, !look.?look.L, end}\nrule "once" { at most 1 !pay }'
)


def lost_payment(session):
    tools = ToolMiddleware(session, {"pay": scripted(TimeoutError("?"), 7), "look": lambda: "fine"}, view="agent")
    assert not tools.execute(call("pay", {}, "c1")).ok
    return tools


@pytest.mark.parametrize("number", range(2))
def test_a_lost_call_counts_against_limits_until_somebody_knows(number):
    tools = lost_payment(list(sessions(ONCE))[number])
    assert tools.lost == {"c1": "TimeoutError: ?"}
    again = tools.execute(call("pay", {}, "c2"))
    assert "nobody knows whether an earlier call has happened: `pay` (call `c1`" in again.error
    assert isinstance(again.verdict, Violation)
    assert tools.execute(call("look")).ok
    assert tools.fail("c1", "the bank knows nothing of it") == Ok()
    assert (tools.lost, tools.execute(call("pay", {}, "c1")).ok, tools.close()) == ({}, True, Ok())


def test_a_lost_call_may_have_happened():
    monitor = refusing(ONCE)
    tools = lost_payment(monitor)
    assert tools.settle("c1", {"receipt": 7}) == Ok()
    assert not tools.execute(call("pay", {}, "c2")).ok
    assert monitor.trace == ["!pay", "?pay", "!pay"]
    assert isinstance(tools.fail("c1", "?"), Blocked) and isinstance(tools.settle("c9"), Blocked)


def test_a_session_with_a_lost_call_is_complete_only_if_it_is_in_both_cases():
    contract = "tools { pay fails unknown }\nprotocol P = {!pay.?pay.!tell.?tell.end, end}"
    tools = ToolMiddleware(refusing(contract), {"pay": failing(OSError()), "tell": lambda: 1}, view="agent")
    tools.execute(call("pay"))
    assert isinstance(tools.close(), Violation)
    assert isinstance(tools.execute(call("tell")).verdict, Blocked)


def test_a_call_that_has_to_wait_is_decided_when_the_earlier_ones_have_ended():
    contract = (
        'protocol P = rec L.{!look.?look.L, !pay.?pay.L, end}\nrule "r" { before !pay require ?look(found == true) }'
    )
    asked = LLMResponse(tool_calls=[call("look", {}, "1"), call("pay", {}, "2"), call("look", {}, "3")])
    for found in (True, False):
        tools = {"look": lambda found=found: {"found": found}, "pay": lambda: "paid"}
        results = ToolMiddleware(refusing(contract), tools, view="agent").process(asked)
        assert [result.ok for result in results] == [True, found, True]


def test_a_session_that_is_recorded_knows_of_calls_before_they_run():
    sink = MemorySink()
    lost_payment(RecordedMonitor(refusing(ONCE), Ledger(sink), session="s"))
    entries = [json.loads(line)["entry"] for line in sink.data.splitlines()]
    assert [entry["what"] for entry in entries if entry["act"] == "note"] == ["call started", "call lost"]


def test_a_call_that_cannot_be_written_down_does_not_run():
    class Full(MemorySink):
        def write(self, start, line):
            if b"started" in line:
                raise OSError("disk full")
            super().write(start, line)

    ran = []
    session = RecordedMonitor(refusing("!a.end"), Ledger(Full()))
    result = ToolMiddleware(session, {"a": lambda: ran.append(1)}, view="agent").execute(call("a"))
    assert isinstance(result.verdict, Blocked) and "the ledger cannot be written" in result.error and not ran


def test_what_is_interrupted_has_failed_and_what_never_began_is_taken_back():
    monitor = refusing("(!a.?a | !b.?b)")
    tools = ToolMiddleware(monitor, {"a": scripted(KeyboardInterrupt(), 1), "b": lambda: 2}, view="agent")
    both = LLMResponse(tool_calls=[call("a", {}, "1"), call("b", {}, "2")])
    with pytest.raises(KeyboardInterrupt):
        tools.process(both)
    assert monitor.trace == [] and all(result.ok for result in tools.process(both)) and monitor.is_terminal


def test_a_task_that_is_cancelled_leaves_nothing_out():
    async def slow():
        await asyncio.get_running_loop().create_future()

    async def cancel():
        task = asyncio.ensure_future(tools.aprocess(LLMResponse(tool_calls=[call("a", {}, "1"), call("b", {}, "2")])))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    tools = ToolMiddleware(refusing("tools { b fails unknown }\nprotocol P = (!a.?a | !b.?b)"), {}, view="agent")
    tools.register("a", slow), tools.register("b", slow)
    asyncio.run(cancel())
    assert list(tools.lost) == ["2"]
    tools.fail("2", "it was not sent")
    tools.register("a", lambda: 1), tools.register("b", lambda: 2)
    assert tools.execute(call("a")).ok and tools.execute(call("b")).ok


def test_results_come_as_they_come_in_an_event_loop():
    async def scenario():
        first, second = asyncio.Event(), asyncio.Event()

        async def a():
            await first.wait()

        async def b():
            second.set()

        async def c():
            first.set()

        tools = ToolMiddleware(monitor, {"a": a, "b": b, "c": c}, view="agent")
        return await tools.aprocess(LLMResponse(tool_calls=[call(name, {}, name) for name in "abc"]))

    monitor = refusing(
        'rec L.{!a.L, !b.L, !c.L, end}\nrule "r" { before !c require ?b }'.replace("rec", "protocol P = rec", 1)
    )
    assert all(result.ok for result in asyncio.run(scenario()))


def test_a_session_that_halts_runs_nothing_more():
    monitor = Monitor("tools { a fails unknown }\nprotocol P = (!a.?a | !b.?b)")
    ran = []
    tools = ToolMiddleware(monitor, {"a": failing(OSError()), "b": lambda: ran.append(1), "c": lambda: 1}, view="agent")
    tools.execute(call("a", {}, "1"))
    with pytest.raises(ProtocolViolationError) as broken:
        tools.process(LLMResponse(tool_calls=[call("c", {}, "2"), call("b", {}, "3")]))
    assert [result.ok for result in broken.value.results] == [False, False] and not ran
    with pytest.raises(ProtocolViolationError):
        tools.execute(call("b", {}, "4"))


def test_time_is_told_by_a_clock():
    now = 0.0
    monitor = Monitor("!a within 5s else !b", mode="refuse", at=0)
    tools = ToolMiddleware(monitor, {"a": lambda: 1, "b": lambda: 2}, view="agent", clock=lambda: now)
    now = 6.0
    late = tools.execute(call("a"))
    assert (
        not late.ok and late.error == Monitor("!a within 5s else !b", mode="refuse", at=0).send("a", at=6.0).explain()
    )
    assert tools.execute(call("b")).ok
    with pytest.raises(UsageError, match="needs a clock"):
        ToolMiddleware(Monitor("!a within 5s else !b", at=0), {}, view="agent")
    with pytest.raises(UsageError, match='`clock` is for `view="agent"`'):
        ToolMiddleware(refusing("!a.end"), {}, clock=lambda: 0.0)


def test_a_session_that_others_may_step_is_for_a_guard():
    with pytest.raises(UsageError, match="keep the session of a guard in the store"):
        ToolMiddleware(StoredSession(MemoryStore(), "!a.end", "s"), {}, view="agent")


@pytest.mark.parametrize(
    "ask", [lambda tools: tools.close(), lambda tools: tools.settle("c1"), lambda tools: tools.fail("c1", "?")]
)
def test_calls_are_lost_in_the_agents_view_alone(ask):
    tools = ToolMiddleware(refusing("?a.!a.end"), {})
    assert tools.lost == {}
    with pytest.raises(UsageError, match='`view="agent"` alone'):
        ask(tools)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"view": "both"}, "`view` is `program` or `agent`"),
        ({"view": "agent", "send_label": "X"}, '`send_label` is for `view="program"`'),
        ({"view": "agent", "receive_label": str}, '`receive_label` is for `view="program"`'),
    ],
)
def test_what_makes_no_sense_is_told(options, said):
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        ToolMiddleware(refusing("!a.end"), {}, **options)


def test_a_session_of_ones_own_says_which_contract_it_has():
    class Own:
        send = receive = situation = None
        mode = "refuse"

    with pytest.raises(UsageError, match="a contract and a method `take`"):
        ToolMiddleware(Own(), {}, view="agent")


# -- the client --------------------------------------------------------------------------------------------------------

TALK = """
events {
    Confirm when user says matches "(?i)yes"
    Sorry when agent says "sorry"
    Pay when call pay
}
protocol P = ?Confirm.!Pay.end
rule "calm" { at most 1 !Sorry }
"""


def client(monitor, answers, **options):
    def model(**_):
        return answers.pop(0)

    return MonitoredClient(model, lambda raw: LLMResponse(content=raw), monitor, **options)


def user(text):
    return {"role": "user", "content": text}


def test_what_is_said_is_told_once_and_stops_nobody():
    monitor = refusing(TALK)
    talk = client(monitor, ["sorry?", "sorry!", "fine"], view="agent")
    tools = ToolMiddleware(monitor, {"pay": lambda: 1}, view="agent")
    assert talk.call(messages=[user("hello")]).content == "sorry?"
    assert not tools.execute(call("pay")).ok
    messages = [user("hello"), {"role": "assistant", "content": "sorry?"}, user("Yes, do it")]
    assert talk.call(messages=messages).content == "sorry!"  # once too often, which is in the trace
    assert talk.call(messages=messages).content == "fine"
    assert monitor.trace == ["!Sorry", "!Pay", "?Confirm by user", "!Sorry"]
    assert tools.execute(call("pay")).ok


def test_a_prompt_is_what_the_user_says_each_time():
    monitor = refusing('events { Ask when user says "" }\nprotocol P = ?Ask.?Ask.end')
    talk = client(monitor, ["a", "b"], view="agent")
    talk.call(prompt="one"), talk.call(prompt="one")
    assert monitor.is_terminal


def test_the_agents_view_of_a_client_needs_a_session_that_refuses():
    with pytest.raises(UsageError, match='mode="refuse"'):
        client(Monitor(TALK), [], view="agent")
    with pytest.raises(UsageError, match="`send_label` is for"):
        client(refusing(TALK), [], view="agent", send_label="X")


def test_labels_of_requests_and_responses_may_be_functions():
    monitor = refusing("!Cheap.?Short.!Dear.?Long.end")
    talk = client(
        monitor,
        ["ok", "a long answer"],
        send_label=lambda asked: "Cheap" if asked["model"] == "small" else "Dear",
        receive_label=lambda response: "Short" if len(response.content) < 5 else "Long",
    )
    talk.call(model="small"), talk.call(model="large")
    assert monitor.is_terminal


@pytest.mark.parametrize("label", [lambda asked: asked["nothing"], lambda _: 3])
def test_a_label_that_cannot_be_told_is_told_before_anything_is_sent(label):
    monitor = refusing("!A.?B.end")
    with pytest.raises(UsageError, match="`send_label`"):
        client(monitor, ["x"], send_label=label, receive_label="B").call(model="m")
    assert monitor.trace == []
