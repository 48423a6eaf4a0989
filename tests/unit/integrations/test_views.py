"""`ToolMiddleware` and `MonitoredClient` in the agent's view, and labels that functions say."""

from __future__ import annotations

import asyncio

import pytest

from accord import (
    Ledger,
    LLMResponse,
    MemorySink,
    MemoryStore,
    Monitor,
    MonitoredClient,
    ProtocolViolationError,
    RecordedMonitor,
    StoredSession,
    ToolCall,
    ToolMiddleware,
    UsageError,
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


def test_a_failure_is_an_end_with_its_reason():
    def fail():
        raise ValueError("no")

    monitor = refusing("!a.?{a(error == null).end, a(error != null).!b.end}")
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
    yield StoredSession(MemoryStore(), contract, "s", mode="refuse")


RESULTS_OF_RULES = """
protocol P = rec L.!{verify.L, pay.L, end}
rule "verified" { before !pay require ?verify(ok == true) }
"""


@pytest.mark.parametrize("number", range(3))
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
