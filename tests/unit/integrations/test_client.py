"""The wrapped call of a model: judged before and after, repeatable if it failed, closed against nonsense."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from accord import (
    UNRECOGNIZED,
    Blocked,
    Ledger,
    LLMResponse,
    MemorySink,
    Monitor,
    MonitoredClient,
    Ok,
    ProtocolViolationError,
    RecordedMonitor,
    ToolCall,
    Unrecognized,
    UsageError,
    Violation,
)

ONCE = "!Request.?Answer.end"


class Model:
    """Does what it is told to, turn by turn: raises errors, answers everything else."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.calls = 0

    def __call__(self, *_, **__):
        self.calls += 1
        turn = self.turns.pop(0) if self.turns else "fine"
        if isinstance(turn, BaseException):
            raise turn
        return turn


def client(model, contract=ONCE, mode="halt", **changed):
    wanted = {
        "llm_call": model,
        "response_adapter": lambda raw: LLMResponse(content=raw),
        "monitor": contract if not isinstance(contract, str) else Monitor(contract, mode=mode),
        "send_label": "Request",
        "receive_label": "Answer",
    }
    return MonitoredClient(**wanted | changed)


# -- judged before and after -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_request_that_is_not_allowed_calls_no_model(mode):
    model = Model()
    watched = client(model, "!Other.end", mode)
    with pytest.raises(ProtocolViolationError) as caught:
        watched.call()
    assert caught.value.verdict == Violation(expected=["!Other"], got="!Request")
    assert str(caught.value) == caught.value.verdict.explain()
    assert model.calls == 0


def test_a_halted_and_a_closed_session_call_no_model():
    model = Model()
    for end in (lambda m: m.send("Nonsense"), lambda m: m.close()):
        watched = client(model)
        end(watched.monitor)
        with pytest.raises(ProtocolViolationError) as caught:
            watched.call()
        assert isinstance(caught.value.verdict, Blocked)
    assert model.calls == 0


def test_an_unrecognised_request_calls_no_model():
    model = Model()
    with pytest.raises(ProtocolViolationError) as caught:
        client(model, send_label=UNRECOGNIZED).call()
    assert isinstance(caught.value.verdict, Unrecognized)
    assert model.calls == 0


def test_a_ledger_that_cannot_be_written_calls_no_model():
    class Full(MemorySink):
        full = False

        def write(self, *args):
            if self.full:
                raise OSError(28, "No space left on device")
            return super().write(*args)

    sink, model = Full(), Model()
    watched = client(model, RecordedMonitor(Monitor(ONCE), Ledger(sink)))
    sink.full = True
    with pytest.raises(ProtocolViolationError, match="No space left"):
        watched.call()
    assert model.calls == 0
    sink.full = False
    assert watched.call().content == "fine"


def test_a_response_that_is_not_allowed_is_not_passed_on_and_comes_with_the_error():
    watched = client(Model("no"), "!Request.?Other.end")
    with pytest.raises(ProtocolViolationError) as caught:
        watched.call()
    assert caught.value.verdict == Violation(expected=["?Other"], got="?Answer")
    assert caught.value.response == LLMResponse(content="no")


def test_a_model_that_may_correct_itself():
    """The explanation goes back to the model; asking again is the same request."""
    contract = 'protocol P = !Request.?Answer(content == "yes").end rule "once" { at most 1 !Request }'
    watched = client(Model("no", "yes"), contract, "refuse")
    with pytest.raises(ProtocolViolationError) as caught:
        watched.call(messages=["?"])
    assert watched.call(messages=["?", str(caught.value)]).content == "yes"
    assert watched.monitor.trace == ["!Request", "?Answer", "?Answer"]
    assert watched.monitor.is_terminal


def test_an_unrecognised_response_may_be_asked_for_again():
    labels = iter([UNRECOGNIZED, UNRECOGNIZED, "Answer"])
    watched = client(Model(), receive_label=lambda _: next(labels))
    for _ in range(2):
        with pytest.raises(ProtocolViolationError) as caught:
            watched.call()
        assert isinstance(caught.value.verdict, Unrecognized)
    assert watched.call().content == "fine"
    assert watched.monitor.trace == ["!Request", "?Unrecognized", "?Unrecognized", "?Answer"]


def test_what_is_asked_and_answered_reaches_the_contract():
    contract = """
    protocol P = !Request(model == "small", temperature <= 1).?Answer(content matches "^f", tool_calls == []).end
    """
    assert client(Model(), contract).call(model="small", temperature=0.5).content == "fine"
    for arguments in ({"model": "big", "temperature": 0}, {"model": "small"}, {}):
        model = Model()
        with pytest.raises(ProtocolViolationError):
            client(model, contract).call(**arguments)
        assert model.calls == 0
    with pytest.raises(ProtocolViolationError):
        client(Model("bad"), contract).call(model="small", temperature=0)


def test_positional_arguments_go_to_the_model_alone():
    seen = []
    watched = client(lambda *args, **kwargs: seen.append((args, kwargs)) or "fine")
    assert watched.call(1, "two", three=3).content == "fine"
    assert seen == [((1, "two"), {"three": 3})]


def test_a_recorded_session_holds_both_events():
    ledger = Ledger(MemorySink())
    watched = client(Model(), RecordedMonitor(Monitor(ONCE), ledger, session="s"))
    watched.call(prompt="hi")
    assert watched.monitor.trace == ["!Request", "?Answer"]
    assert len(ledger) == 3 and ledger.verify().ok


# -- a failed call may be made again -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["halt", "refuse"])
@pytest.mark.parametrize("error", [OSError("down"), KeyboardInterrupt(), SystemExit(1)])
def test_a_failed_call_uses_nothing_up(error, mode):
    contract = 'protocol P = !Request.?Answer.end rule "once" { at most 1 !Request }'
    model = Model(error, error, "fine")
    watched = client(model, contract, mode)
    for _ in range(2):
        with pytest.raises(type(error)):
            watched.call(prompt="hi")
    assert watched.call(prompt="hi").content == "fine"
    assert watched.monitor.trace == ["!Request", "?Answer"]
    assert model.calls == 3


def test_a_failed_call_may_be_made_again_with_arguments_the_contract_cannot_tell_apart():
    contract = 'protocol P = !Request(model == "small").?Answer.end'
    watched = client(Model(ConnectionError(), "fine"), contract)
    with pytest.raises(ConnectionError):
        watched.call(model="small", messages=["a long", "story"])
    assert watched.call(model="small", messages=["story"]).content == "fine"


@pytest.mark.parametrize("contract", [
    'protocol P = !Request(model == "small").?Answer.end',
    "protocol P = !Request(model as m).?Answer.!Show(model == m).end",
])  # fmt: skip
def test_a_failed_call_does_not_let_other_arguments_slip_by(contract):
    model = Model(ConnectionError(), "fine")
    watched = client(model, contract, "refuse")
    with pytest.raises(ConnectionError):
        watched.call(model="small")
    with pytest.raises(ProtocolViolationError):
        watched.call(model="big")
    assert model.calls == 1
    assert watched.call(model="small").content == "fine"


def test_arguments_that_change_in_the_meantime_are_not_the_same():
    model = Model(ConnectionError(), "fine")
    watched = client(model, "protocol P = !Request(models as m).?Answer.end", "refuse")
    models = ["small"]
    with pytest.raises(ConnectionError):
        watched.call(models=models)
    models.append("big")
    with pytest.raises(ProtocolViolationError):
        watched.call(models=models)


def test_arguments_that_cannot_be_compared_are_judged_anew():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    watched = client(Model(ConnectionError(), "fine"), mode="refuse")
    with pytest.raises(ConnectionError):
        watched.call(odd=Odd())
    with pytest.raises(ProtocolViolationError):
        watched.call(odd=Odd())


def test_a_failed_call_that_the_program_has_dealt_with_is_not_repeated():
    """The request was answered otherwise, so the next one is a new one and judged as such."""
    contract = 'protocol P = rec L.!Request.?{Answer.end, Failed.L} rule "twice" { at most 2 !Request }'
    model = Model(ConnectionError(), ConnectionError(), "fine")
    watched = client(model, contract, "refuse")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            watched.call()
        assert watched.monitor.receive("Failed") == Ok()
    with pytest.raises(ProtocolViolationError, match="rule `twice`"):
        watched.call()
    assert model.calls == 2


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_failed_call_does_not_outlive_its_session(end):
    model = Model(ConnectionError(), "fine")
    watched = client(model)
    with pytest.raises(ConnectionError):
        watched.call()
    getattr(watched.monitor, end)()
    if end == "close":
        with pytest.raises(ProtocolViolationError):
            watched.call()
        assert model.calls == 1
    else:
        assert watched.call().content == "fine"
        assert watched.monitor.trace == ["!Request", "?Answer"]


def test_a_violation_is_no_failed_call_in_a_session_that_halts():
    model = Model("no")
    watched = client(model, "!Request.?Other.end")
    for kind in (Violation, Blocked):
        with pytest.raises(ProtocolViolationError) as caught:
            watched.call()
        assert isinstance(caught.value.verdict, kind)
    assert model.calls == 1


def test_sessions_with_a_clock_of_their_own():
    """A monitor told the time by its class; a failed call may be made again with the same arguments."""

    class Clocked(Monitor):
        __slots__ = ()
        now = 0.0

        def send(self, label, payload=None, to=None, at=None):
            return super().send(label, payload, to, Clocked.now if at is None else at)

        def receive(self, label, payload=None, sender=None, by=None, at=None):
            return super().receive(label, payload, sender, by, Clocked.now if at is None else at)

    contract = "!Request.?Answer within 10s else end"
    watched = client(Model(ConnectionError(), "fine"), Clocked(contract, at=0))
    with pytest.raises(ConnectionError):
        watched.call(prompt="hi")
    Clocked.now = 5.0
    assert watched.call(prompt="hi").content == "fine"
    Clocked.now = 0.0
    late = client(lambda: setattr(Clocked, "now", 11.0) or "fine", Clocked(contract, at=0))
    with pytest.raises(ProtocolViolationError):
        late.call()


# -- nonsense ----------------------------------------------------------------------------------------------------------


def broken(*_):
    raise KeyError("choices")


@pytest.mark.parametrize(("changed", "says"), [
    ({"response_adapter": broken}, r"`response_adapter` failed: KeyError\('choices'\)"),
    ({"response_adapter": lambda _: None}, "`response_adapter` makes an `LLMResponse`, got `NoneType`"),
    ({"response_adapter": lambda _: {"content": "hi"}}, "got `dict`"),
    ({"response_adapter": lambda _: LLMResponse(content=3)}, "`content` is neither a `str` nor `None`"),
    ({"response_adapter": lambda _: LLMResponse(tool_calls=None)}, "no list of `ToolCall`s"),
    ({"response_adapter": lambda _: LLMResponse(tool_calls=["search"])}, "no list of `ToolCall`s"),
    ({"receive_label": broken}, r"`receive_label` failed: KeyError\('choices'\)"),
    ({"receive_label": lambda _: None}, "`receive_label` gives a `str`, got `NoneType`"),
    ({"receive_label": lambda _: ""}, "a label has at least one character"),
])  # fmt: skip
def test_nonsense_after_the_call_is_an_error_and_the_call_may_be_made_again(changed, says):
    watched = client(Model(), **changed)
    for _ in range(2):
        with pytest.raises(UsageError, match=says):
            watched.call()
    assert watched.monitor.trace == ["!Request"], "nothing was received"


@pytest.mark.parametrize(("changed", "says"), [
    ({"monitor": ONCE}, "`monitor` is a `Monitor`, or a session like one, got `str`"),
    ({"llm_call": None}, "`llm_call` and `response_adapter` are functions"),
    ({"response_adapter": "content"}, "`llm_call` and `response_adapter` are functions"),
    ({"send_label": None}, "`send_label` is a `str` or a function, got `NoneType`"),
    ({"receive_label": 3}, "`receive_label` is a `str` or a function, got `int`"),
])  # fmt: skip
def test_a_client_that_cannot_be(changed, says):
    with pytest.raises(UsageError, match=says):
        client(Model(), **changed)


def test_tool_calls_may_come_in_a_tuple():
    watched = client(Model(), response_adapter=lambda _: LLMResponse(tool_calls=(ToolCall("a"),)))
    assert watched.call().tool_calls == [ToolCall("a")]


def test_a_violation_can_be_pickled():
    with pytest.raises(ProtocolViolationError) as caught:
        client(Model("no"), "!Request.?Other.end").call()
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (str(again), again.verdict, again.response) == (
        str(caught.value),
        caught.value.verdict,
        caught.value.response,
    )


# -- asynchronous ------------------------------------------------------------------------------------------------------


def test_an_asynchronous_model():
    async def model(prompt):
        await asyncio.sleep(0)
        if prompt == "fail":
            raise OSError("down")
        return prompt.upper()

    async def run():
        watched = client(model)
        with pytest.raises(OSError, match="down"):
            await watched.acall(prompt="fail")
        assert (await watched.acall(prompt="hi")).content == "HI"
        assert watched.monitor.trace == ["!Request", "?Answer"]
        with pytest.raises(ProtocolViolationError):
            await watched.acall(prompt="hi")

    asyncio.run(run())


def test_acall_takes_a_plain_function_too():
    assert asyncio.run(client(Model()).acall()).content == "fine"


def test_call_does_not_take_an_asynchronous_model_for_an_answer():
    async def model():
        return "fine"

    watched = client(model)
    with pytest.raises(UsageError, match=r"use `await client\.acall"):
        watched.call()
    assert asyncio.run(watched.acall()).content == "fine"


def test_a_cancelled_call_may_be_made_again():
    async def run():
        started, forever = asyncio.Event(), asyncio.Event()

        async def model(wait):
            if wait:
                started.set()
                await forever.wait()
            return "fine"

        watched = client(model)
        task = asyncio.create_task(watched.acall(wait=True))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await watched.acall(wait=False)).content == "fine"
        assert watched.monitor.trace == ["!Request", "?Answer"]

    asyncio.run(run())
