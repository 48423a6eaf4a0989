"""Tools behind a contract: reserved in order, run on `Ok` alone, answered; and whatever can be wrong with a call."""

from __future__ import annotations

import asyncio
from types import MappingProxyType

import pytest

from accord import (
    UNRECOGNIZED,
    Blocked,
    Ledger,
    LLMResponse,
    MemorySink,
    Monitor,
    MonitoredClient,
    ProtocolViolationError,
    RecordedMonitor,
    ToolCall,
    ToolMiddleware,
    ToolResult,
    Unrecognized,
    UsageError,
    Violation,
)

ONE_PAYMENT = "?pay.!pay.end"
ANY = "rec L.{?pay.L, !pay.L, ?search.L, !search.L, ?stop.end}"


class Till:
    """Tools that remember what they were asked."""

    def __init__(self):
        self.ran = []

    def pay(self, amount=0):
        self.ran.append(amount)
        return {"paid": amount}

    def search(self, text=""):
        self.ran.append(text)
        return [text]


def made(contract, mode="refuse", **changed):
    till = Till()
    monitor = contract if not isinstance(contract, str) else Monitor(contract, mode=mode)
    wanted = {"monitor": monitor, "tools": {"pay": till.pay, "search": till.search}}
    return ToolMiddleware(**wanted | changed), till, monitor


def batch(*calls, content=None):
    return LLMResponse(content=content, tool_calls=list(calls))


def pay(amount=1, identity=""):
    return ToolCall("pay", {"amount": amount}, identity)


# -- labels and payloads -----------------------------------------------------------------------------------------------


def test_a_call_is_received_and_its_result_sent():
    tools, _till, monitor = made(ONE_PAYMENT)
    result = tools.execute(pay(3, "c1"))
    assert result == ToolResult(tool_call_id="c1", tool_name="pay", result={"paid": 3})
    assert result.ok and result.content == '{"paid": 3}'
    assert monitor.trace == ["?pay", "!pay"] and monitor.is_terminal


def test_arguments_and_results_reach_clauses_and_rules():
    contract = """
    protocol P = rec L.{?pay(amount as a, amount <= 100).!pay(paid == a, error == null).L, ?stop.end}
    rule "no thirteen" { forbid ?pay(amount == 13) then ?pay(amount == 13) }
    rule "two" { at most 2 !pay(paid > 50) }
    """
    tools, till, _ = made(contract)
    amounts = [7, 101, 13, 13, 60, 70, "x"]
    verdicts = [type(tools.execute(pay(amount)).verdict) for amount in amounts]
    assert verdicts == [type(None), Violation, type(None), Violation, type(None), type(None), Violation]
    assert till.ran == [7, 13, 60, 70]


def test_a_result_that_is_no_mapping_stands_in_result():
    tools, _, _ = made('protocol P = ?search.!search(text == "[\\"Rome\\"]", error == null).end')
    assert tools.execute(ToolCall("search", {"text": "Rome"})).result == ["Rome"]


def test_functions_say_the_labels():
    tools, _, monitor = made(
        "?Asked.{!Answered.end, !Failed.end}",
        receive_label=lambda call: f"Ask{call.name[3:]}ed",
        send_label=lambda result: "Answered" if result.ok else "Failed",
    )
    assert tools.execute(pay()).ok and monitor.trace == ["?Asked", "!Answered"]


def test_a_fixed_label_is_fired_once_for_a_batch():
    contract = """
    protocol P =
        ?Tools(content == "let me see", tool_calls as asked)
        .!Results(results as given)
        .!Check(a == asked, g == given)
        .end
    """
    tools, till, monitor = made(contract, receive_label="Tools", send_label="Results")
    response = batch(pay(1, "a"), ToolCall("nothing", {}, "b"), pay(2, "c"), content="let me see")
    results = tools.process(response)
    assert [r.ok for r in results] == [True, False, True] and till.ran == [1, 2]
    asked = [
        {"id": "a", "name": "pay", "arguments": {"amount": 1}},
        {"id": "b", "name": "nothing", "arguments": {}},
        {"id": "c", "name": "pay", "arguments": {"amount": 2}},
    ]
    given = [
        {"id": "a", "name": "pay", "result": {"paid": 1}, "error": None},
        {"id": "b", "name": "nothing", "result": None, "error": results[1].error},
        {"id": "c", "name": "pay", "result": {"paid": 2}, "error": None},
    ]
    monitor.send("Check", {"a": asked, "g": given})
    assert monitor.trace == ["?Tools", "!Results", "!Check"] and monitor.is_terminal


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_fixed_label_that_is_refused_runs_nothing_and_answers_nothing(mode):
    tools, till, monitor = made("?Other.end", mode, receive_label="Tools", send_label="Results")
    if mode == "halt":
        with pytest.raises(ProtocolViolationError) as caught:
            tools.process(batch(pay(), pay()))
        results = caught.value.results
    else:
        results = tools.process(batch(pay(), pay()))
    assert [type(r.verdict) for r in results] == [Violation, Violation]
    assert till.ran == [] and monitor.trace == ["?Tools"]


def test_calls_received_one_by_one_and_answered_together():
    tools, _till, monitor = made("rec L.{?pay.L, !Results.end}", send_label="Results")
    assert [r.ok for r in tools.process(batch(pay(), ToolCall("search"), pay()))] == [True, False, True]
    assert monitor.trace == ["?pay", "?search", "?pay", "!Results"]


def test_no_calls_no_events():
    tools, _, monitor = made(ANY, receive_label="Tools", send_label="Results")
    assert tools.process(LLMResponse(content="hello")) == [] == asyncio.run(tools.aprocess(batch()))
    assert monitor.trace == []


# -- with a client in the same session ---------------------------------------------------------------------------------


def response_of(monitor, label, *calls):
    """A response that a client has received under that label."""
    client = MonitoredClient(
        llm_call=lambda: None,
        response_adapter=lambda _: batch(*calls),
        monitor=monitor,
        send_label="Request",
        receive_label=label,
    )
    return client.call()


def test_what_the_client_received_is_not_received_again():
    tools, till, monitor = made("!Request.?pay.!pay.end", "halt")
    tools.process(response_of(monitor, "pay", pay()))
    assert monitor.trace == ["!Request", "?pay", "!pay"] and till.ran == [1]


def test_a_receipt_is_good_for_one_call():
    tools, till, monitor = made("!Request.?pay.!pay.end")
    response = response_of(monitor, "pay", pay(1), pay(2))
    assert [r.ok for r in tools.process(response)] == [True, False]
    assert [r.ok for r in tools.process(response)] == [False, False]
    assert till.ran == [1]


def test_a_receipt_is_good_for_its_own_session():
    tools, till, _ = made("?search.end")
    response = response_of(Monitor("!Request.?pay.end"), "pay", pay())
    assert isinstance(tools.process(response)[0].verdict, Violation) and till.ran == []


def test_a_received_call_is_answered_even_if_it_cannot_run():
    tools, _, monitor = made("!Request.?nothing.!nothing(error != null).end", "halt")
    (result,) = tools.process(response_of(monitor, "nothing", ToolCall("nothing")))
    assert result.error == "there is no tool `nothing`; there is `pay` or `search`"
    assert monitor.is_terminal


# -- on `Ok` alone -----------------------------------------------------------------------------------------------------


def test_of_two_calls_of_which_one_is_legal_exactly_one_runs():
    tools, till, monitor = made(ONE_PAYMENT)
    results = tools.process(batch(pay(1, "a"), pay(2, "b")))
    assert till.ran == [1]
    assert results[0] == ToolResult("a", "pay", {"paid": 1})
    assert results[1].verdict == Violation(expected=["!pay"], got="?pay")
    assert results[1].error == results[1].verdict.explain()
    assert results[1].content == f"error: {results[1].error}"
    assert monitor.trace == ["?pay", "?pay", "!pay"] and monitor.is_terminal


def test_a_call_that_waits_for_the_answer_of_another_is_refused_in_the_same_batch():
    """The model has not seen the answer it needs. It asks again, and is allowed."""
    tools, till, _ = made("?search.!search.?pay.!pay.end")
    first = tools.process(batch(ToolCall("search", {"text": "x"}), pay()))
    assert [r.ok for r in first] == [True, False]
    assert "first wait for the result of `search`, then `pay`" in first[1].error
    assert tools.process(batch(pay()))[0].ok and till.ran == ["x", 1]


def test_in_a_session_that_halts_a_refused_call_stops_the_whole_batch():
    tools, till, monitor = made(ONE_PAYMENT, "halt")
    with pytest.raises(ProtocolViolationError) as caught:
        tools.process(batch(pay(1), pay(2)))
    assert till.ran == [] and monitor.is_halted
    assert [r.error for r in caught.value.results] == [
        "it was not run, because the session has halted",
        caught.value.verdict.explain(),
    ]
    with pytest.raises(ProtocolViolationError) as caught:
        tools.execute(pay())
    assert isinstance(caught.value.verdict, Blocked) and till.ran == []


@pytest.mark.parametrize(("mode", "kind"), [("halt", Unrecognized), ("refuse", Unrecognized)])
def test_an_unrecognised_call_does_not_run(mode, kind):
    tools, till, monitor = made(ONE_PAYMENT, mode, receive_label=lambda _: UNRECOGNIZED)
    if mode == "halt":
        with pytest.raises(ProtocolViolationError) as caught:
            tools.execute(pay())
        assert isinstance(caught.value.verdict, kind)
    else:
        assert isinstance(tools.execute(pay()).verdict, kind)
    assert till.ran == [] and not monitor.is_halted


def test_a_closed_session_runs_nothing():
    tools, till, monitor = made(ONE_PAYMENT)
    monitor.close()
    assert isinstance(tools.execute(pay()).verdict, Blocked) and till.ran == []


class Full(MemorySink):
    full = False

    def write(self, *args):
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(*args)


def test_what_cannot_be_recorded_is_not_run():
    sink = Full()
    tools, till, _ = made(RecordedMonitor(Monitor(ONE_PAYMENT, mode="refuse"), Ledger(sink)))
    sink.full = True
    assert "No space left" in tools.execute(pay()).error and till.ran == []
    sink.full = False
    assert tools.execute(pay()).ok


@pytest.mark.parametrize("nonsense", [None, True, "ok", 1])
def test_a_monitor_that_gives_no_verdict_runs_nothing(nonsense):
    class Odd(Monitor):
        __slots__ = ()

        def receive(self, *_):
            return nonsense

    tools, till, _ = made(Odd(ONE_PAYMENT, mode="refuse"))
    assert tools.execute(pay()).error and till.ran == []


def test_a_monitor_that_raises_runs_nothing():
    class Broken(Monitor):
        __slots__ = ()

        def receive(self, *_):
            raise RuntimeError("out of order")

    tools, till, _ = made(Broken(ONE_PAYMENT, mode="refuse"))
    with pytest.raises(RuntimeError, match="out of order"):
        tools.execute(pay())
    assert till.ran == []


def test_what_is_judged_is_what_runs():
    """The arguments are copied before they are judged."""
    arguments = {"amount": [1]}

    class Sly(Monitor):
        __slots__ = ()

        def receive(self, label, payload=None):
            verdict = super().receive(label, payload)
            arguments["amount"].append(1000)
            return verdict

    tools, _till, _ = made(Sly(ONE_PAYMENT, mode="refuse"))
    assert tools.execute(ToolCall("pay", arguments)).result == {"paid": [1]}
    assert arguments == {"amount": [1, 1000]}


# -- the answer --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [False, True])
def test_an_answer_that_is_refused_is_withheld(fixed):
    label = "Results" if fixed else None
    contract = f"protocol P = ?pay.!{label or 'pay'}(secret == null).end"
    tools, till, _ = made(contract, send_label=label)
    (result,) = tools.process(batch(pay(5, "a")))
    assert result.result is None and result.withheld == {"paid": 5} and till.ran == [5]
    assert isinstance(result.verdict, Violation)
    assert result.error.startswith("the tool has run, but its result is withheld: ")
    assert "paid" not in result.content


def test_the_words_about_a_withheld_answer_do_not_give_it_away():
    tools, _, _ = made("protocol P = ?pay.!pay(paid < 5).end")
    (result,) = tools.process(batch(pay(4711, "a")))
    assert result.withheld == {"paid": 4711} and "4711" in result.verdict.explain()
    assert "4711" not in result.content
    assert result.content.endswith("its result is withheld: the protocol P does not allow it.")


def test_in_a_session_that_halts_a_refused_answer_raises_with_all_results():
    tools, till, _ = made("protocol P = rec L.{?pay.L, !pay(paid < 5).L, ?stop.end}", "halt")
    with pytest.raises(ProtocolViolationError) as caught:
        tools.process(batch(pay(1), pay(5), pay(2)))
    assert till.ran == [1, 5, 2]
    results = caught.value.results
    assert [r.result for r in results] == [{"paid": 1}, None, None]
    assert [r.withheld for r in results] == [None, {"paid": 5}, {"paid": 2}]
    assert isinstance(results[2].verdict, Blocked)


@pytest.mark.parametrize("label", [lambda _: 1 / 0, lambda _: None, lambda _: ""])
def test_an_answer_without_a_label_is_withheld(label):
    tools, till, monitor = made(ONE_PAYMENT, send_label=label)
    result = tools.execute(pay())
    assert isinstance(result.verdict, Blocked) and result.withheld == {"paid": 1} and till.ran == [1]
    assert monitor.trace == ["?pay"]


def test_a_tool_that_raises_has_answered_with_its_error():
    def pay(amount):
        raise ValueError(f"no account for {amount}")

    contract = "rec L.{?pay.!pay.L, ?stop.end}"
    sink = MemorySink()
    tools, _, monitor = made(RecordedMonitor(Monitor(contract), Ledger(sink)), tools={"pay": pay})
    for _ in range(2):
        result = tools.execute(ToolCall("pay", {"amount": 3}, "c"))
        assert result == ToolResult("c", "pay", error="ValueError: no account for 3")
        assert result.content == "error: ValueError: no account for 3"
    assert monitor.trace == ["?pay", "!pay"] * 2 and monitor.status == "running"
    assert sink.data.count(b'"payload":{"error":"ValueError: no account for 3"}') == 2


def test_a_contract_can_tell_a_failed_answer_from_a_good_one():
    def search(text):
        if not text:
            raise ValueError("nothing to look for")
        return [text]

    contract = "protocol P = rec L.?search.!{search(error == null).?pay.!pay.end, search(error != null).L}"
    till = Till()
    tools, _, monitor = made(contract, tools={"search": search, "pay": till.pay})
    tools.execute(ToolCall("search", {"text": ""}))
    assert not tools.execute(pay()).ok and till.ran == []
    tools.execute(ToolCall("search", {"text": "x"}))
    assert tools.execute(pay()).ok and monitor.is_terminal


def test_a_failed_answer_that_the_contract_refuses():
    tools, _, _ = made("protocol P = ?pay.!pay(error == null).end", tools={"pay": lambda: 1 / 0})
    result = tools.execute(ToolCall("pay"))
    assert result.error.startswith("ZeroDivisionError: division by zero (this answer is refused, too")


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(("error", "says"), [
    (MuteError(), "MuteError"),
    (ValueError("x" * 5000), "ValueError: " + "x" * 1987 + "…"),
    (ProtocolViolationError("an inner contract"), "ViolationError: an inner contract"),
])  # fmt: skip
def test_whatever_a_tool_raises(error, says):
    def tool():
        raise error

    tools, _, monitor = made(ONE_PAYMENT, tools={"pay": tool})
    assert tools.execute(ToolCall("pay")).error == says
    assert monitor.is_terminal


def test_an_interrupt_passes_through_and_the_call_stays_unanswered():
    def tool():
        raise KeyboardInterrupt

    tools, _, monitor = made(ONE_PAYMENT, tools={"pay": tool})
    with pytest.raises(KeyboardInterrupt):
        tools.execute(ToolCall("pay"))
    assert monitor.trace == ["?pay"] and not tools.execute(ToolCall("pay")).ok


def inside_itself():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(("value", "why"), [
    (object(), "a object has no canonical JSON form"),
    ({1, 2}, "a set has no canonical JSON form"),
    (b"x", "a bytes has no canonical JSON form"),
    ({"a": float("nan")}, "nan has no canonical JSON form"),
    ({1: 2}, "a key in it is no text"),
    (inside_itself(), "it is nested too deeply, or inside itself"),
    ([10**5000], "Exceeds the limit"),
    (range(3), "a range has no canonical JSON form"),
])  # fmt: skip
def test_a_result_that_is_no_json_is_an_error(value, why):
    tools, _, monitor = made("protocol P = ?pay.!pay(error != null).end", tools={"pay": lambda: value})
    result = tools.execute(ToolCall("pay"))
    assert result.error.startswith(f"the tool has run, but its result is no JSON: {why}")
    assert result.result is None and result.withheld is value and monitor.is_terminal


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", "", [], {}, ("a", 1), {"a": [None]}])
def test_json_passes(value):
    tools, _, _ = made(ONE_PAYMENT, tools={"pay": lambda: value})
    result = tools.execute(ToolCall("pay"))
    assert result.ok and result.result == value and isinstance(result.content, str)


# -- what can be wrong with a call -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "says"), [
    (ToolCall("refund", {}), "there is no tool `refund`; there is `pay` or `search`"),
    (ToolCall("pay`; drop\x1b", {}), r"there is no tool `pay'; drop\x1b`; there is `pay` or `search`"),
    (ToolCall("", {}), "a tool is called by its name, and there is none"),
    (ToolCall(None, {}), "a tool is called by its name, and there is none"),
    (ToolCall("pay", None), "the arguments of `pay` must be a JSON object"),
    (ToolCall("pay", '{"amount": '), "the arguments of `pay` must be a JSON object"),
    (ToolCall("pay", [1]), "the arguments of `pay` must be a JSON object"),
    (ToolCall("pay", {1: 2}), "the arguments of `pay` must be a JSON object"),
    (ToolCall("pay", {}, 7), "the id of a call is a text, got `int`"),
])  # fmt: skip
def test_a_call_that_cannot_run_is_told_so_and_moves_nothing(call, says):
    tools, till, monitor = made(ONE_PAYMENT, "halt")
    result = tools.execute(call)
    assert (result.error, result.verdict, till.ran, monitor.trace) == (says, None, [], [])
    assert tools.execute(pay()).ok, "the session is as it was"


def test_arguments_that_cannot_be_read():
    class Trap(dict):
        def keys(self):
            raise RuntimeError("boo")

        __iter__ = items = keys

    tools, till, monitor = made(ONE_PAYMENT)
    result = tools.execute(ToolCall("pay", {"amount": Trap(a=1)}))
    assert result.error == "the arguments of `pay` cannot be read: RuntimeError: boo"
    assert till.ran == [] == monitor.trace


def test_arguments_may_be_any_mapping():
    tools, till, _ = made(ONE_PAYMENT)
    assert tools.execute(ToolCall("pay", MappingProxyType({"amount": 4}))).ok and till.ran == [4]


def test_arguments_a_tool_does_not_take_are_its_error():
    tools, _till, monitor = made(ONE_PAYMENT)
    assert "unexpected keyword argument 'colour'" in tools.execute(ToolCall("pay", {"colour": 1})).error
    assert monitor.trace == ["?pay", "!pay"]


def test_calls_without_ids_run_and_are_answered_in_order():
    tools, till, _ = made(ANY)
    results = tools.process(batch(pay(1), pay(2), ToolCall("pay", {"amount": 3}, None)))
    assert till.ran == [1, 2, 3]
    assert [(r.tool_call_id, r.result["paid"]) for r in results] == [("", 1), ("", 2), ("", 3)]


def test_calls_with_one_id_do_not_run():
    tools, till, monitor = made(ANY)
    results = tools.process(batch(pay(1, "a"), pay(2, "b"), pay(1, "a")))
    assert till.ran == [2]
    assert [r.error for r in results] == [
        "several calls have the id `a`, so none of them was run",
        None,
        results[0].error,
    ]
    assert monitor.trace == ["?pay", "!pay"]
    assert tools.process(batch(pay(1, "a")))[0].ok, "an id may come again in another response"


@pytest.mark.parametrize(("label", "says"), [
    (lambda _: 1 / 0, r"`receive_label` failed: ZeroDivisionError"),
    (lambda _: None, "`receive_label` gives a `str`, got `NoneType`"),
])  # fmt: skip
def test_a_label_that_cannot_be_told_is_misuse_before_anything_is_received(label, says):
    def sometimes(call):
        return "pay" if call.arguments == {"amount": 1} else label(call)

    tools, till, monitor = made(ANY, receive_label=sometimes)
    with pytest.raises(UsageError, match=says):
        tools.process(batch(pay(1), pay(2)))
    assert till.ran == [] == monitor.trace


@pytest.mark.parametrize(("use", "says"), [
    (lambda tools: tools.execute({"name": "pay"}), "a `ToolCall` is executed, got `dict`"),
    (lambda tools: tools.process([pay()]), "an `LLMResponse` is processed, got `list`"),
    (lambda tools: tools.process(LLMResponse(tool_calls=["pay"])), "no list of `ToolCall`s"),
    (lambda tools: tools.process(LLMResponse(tool_calls=7)), "no list of `ToolCall`s"),
    (lambda tools: tools.register("x", None), "a tool is a function with a name"),
    (lambda tools: tools.register("", print), "a tool is a function with a name"),
    (lambda _: ToolMiddleware(ONE_PAYMENT, {}), "`monitor` is a `Monitor`, or a session like one, got `str`"),
    (lambda tools: ToolMiddleware(tools.monitor, [print]), "`tools` is a mapping from names to functions"),
    (lambda tools: ToolMiddleware(tools.monitor, {}, receive_label=3), "`receive_label` is a `str` or a function"),
    (lambda tools: ToolMiddleware(tools.monitor, {}, send_label=3), "`send_label` is a `str` or a function"),
])  # fmt: skip
def test_misuse(use, says):
    tools, _, monitor = made(ONE_PAYMENT)
    with pytest.raises(UsageError, match=says):
        use(tools)
    assert monitor.trace == []


def test_a_tool_can_be_replaced():
    tools, till, _ = made(ONE_PAYMENT)
    tools.register("pay", lambda **_: "later")
    assert tools.execute(pay()).content == "later" and till.ran == []


# -- asynchronous ------------------------------------------------------------------------------------------------------


def test_asynchronous_tools_run_at_the_same_time_and_are_answered_in_order():
    async def run():
        first_may_go = asyncio.Event()

        async def slow():
            await first_may_go.wait()
            return "slow"

        async def quick():
            first_may_go.set()
            return "quick"

        monitor = Monitor("?slow.?quick.?plain.!slow.!quick.!plain.end")
        tools = ToolMiddleware(monitor, {"slow": slow, "quick": quick, "plain": lambda: "plain"})
        results = await tools.aprocess(batch(ToolCall("slow"), ToolCall("quick"), ToolCall("plain")))
        assert [r.result for r in results] == ["slow", "quick", "plain"]
        assert monitor.is_terminal

    asyncio.run(run())


def test_asynchronous_failures_are_told_like_all_others():
    async def broken():
        raise ValueError("no")

    monitor = Monitor("rec L.{?a.L, !a.L, ?stop.end}", mode="refuse")
    tools = ToolMiddleware(monitor, {"a": broken, "b": broken})
    results = asyncio.run(tools.aprocess(batch(ToolCall("a"), ToolCall("b"), ToolCall("c"))))
    assert results[0].error == "ValueError: no"
    assert isinstance(results[1].verdict, Violation)
    assert "no tool `c`" in results[2].error
    assert asyncio.run(tools.aexecute(ToolCall("a"))).error == "ValueError: no"


def test_process_does_not_take_an_asynchronous_tool():
    async def tool():
        return 1

    class Hidden:
        def __call__(self):
            return tool()

    tools, _, monitor = made(ONE_PAYMENT, tools={"pay": tool})
    with pytest.raises(UsageError, match="the tool `pay` is asynchronous; use `aexecute` or `aprocess`"):
        tools.execute(ToolCall("pay"))
    assert monitor.trace == []
    tools.register("pay", Hidden())
    result = tools.execute(ToolCall("pay"))
    assert result.error == "UsageError: the tool is asynchronous and was not waited for"
    assert monitor.trace == ["?pay", "!pay"]


def test_a_cancelled_batch_stays_unanswered():
    async def run():
        started = asyncio.Event()

        async def forever():
            started.set()
            await asyncio.Event().wait()

        monitor = Monitor(ONE_PAYMENT, mode="refuse")
        tools = ToolMiddleware(monitor, {"pay": forever})
        task = asyncio.create_task(tools.aexecute(ToolCall("pay")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert monitor.trace == ["?pay"]
        assert not (await tools.aexecute(ToolCall("pay"))).ok, "it may have run, so it does not run again"

    asyncio.run(run())
