"""Several middlewares of ours on one agent: contracts, state machines, and both."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import Ledger, MemorySink, UsageError
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    ProtocolState,
    Transition,
    ref,
)
from tests.agents.protocols import KINDS, booking_of, gated_of, machine
from tests.agents.scripted import Recorder, Scripted, asked, call, config, say, told

SCRIPT = [say(call("book", "x")), say(call("search", "a")), say(call("book", "b")), say(call("book", "c")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=["sync", "async", "stream"])
def run(request):
    def step(agent, given):
        if request.param == "sync":
            agent.invoke(given, config())
        elif request.param == "async":
            asyncio.run(agent.ainvoke(given, config()))
        else:
            list(agent.stream(given, config(), stream_mode="updates"))
        return agent.get_state(config())

    return step


def agent_with(recorder, *middleware, script=SCRIPT):
    return create_agent(Scripted(script=script), recorder.tools, middleware=middleware, checkpointer=InMemorySaver())


def once(recorder):
    """A machine in which one booking is made, whatever else is done."""
    book = ref(recorder.tools[1])
    return (
        ProtocolFSM(initial="fresh")
        .add_transition(Transition(source="fresh", tool=book, phase="send", target="paying"))
        .add_transition(Transition(source="paying", tool=book, phase="recv", target="paid"))
        .mark_terminal("fresh", "paid")
    ), [book]


def limit(kind, recorder, name):
    """At most one booking, as each of ours says it."""
    if kind == "contract":
        return AccordMiddleware('rule "once" { at most 1 book }', name=name)
    fsm, tools = once(recorder)
    if kind == "checkpointed":
        return CheckpointedProtocolMiddleware(fsm, tool_refs=tools, name=name).middleware
    return ProtocolEnforcerMiddleware(ProtocolMonitor(fsm), tools, name=name).middleware


@pytest.mark.parametrize(("first", "second"), [*product(KINDS, KINDS)])
@pytest.mark.parametrize("swapped", [False, True])
def test_every_pair_guards_one_agent(recorder, run, first, second, swapped):
    """Each refuses what it does not allow, and each hears once of what has happened."""
    pair = [booking_of(first, recorder), limit(second, recorder, "limit")]
    agent = agent_with(recorder, *(pair[::-1] if swapped else pair))
    values = run(agent, asked()).values
    assert recorder.names == ["search", "book"]
    assert [message.startswith("error") for message in told(values)] == [True, False, False, True]
    name = "accord" if first == "contract" else "fsm"
    for report in (values[name], values["limit"]):
        assert (report["status"], report["out"]) == ("complete", [])
    if first != "contract":
        assert values["fsm_trace"] == ["send:search", "recv:search", "send:book", "recv:book"]
    if second != "contract":
        assert (values["limit_state"], values["limit_trace"]) == ("paid", ["send:book", "recv:book"])


@pytest.mark.parametrize("kind", ["checkpointed", "enforcer"])
def test_what_a_machine_keeps_is_called_by_its_name(recorder, kind):
    unnamed, named = booking_of(kind, recorder), booking_of(kind, recorder, name="trip")
    assert named.name == f"{unnamed.name}.trip"
    keys = {key.replace("trip", "fsm", 1) for key in named.state_schema.__annotations__}
    assert keys == set(unnamed.state_schema.__annotations__)
    assert {"fsm", "fsm_state", "fsm_trace", "fsm_session"} <= keys
    agent = agent_with(recorder, named, script=[*SCRIPT[1:3], "done"])
    values = agent.invoke(asked(), config())
    assert (values["trip_state"], values["trip"]["status"]) == ("done", "complete")
    assert not any(key.startswith("fsm") for key in values)
    assert f"{named.name}.after_model" in agent.get_graph().nodes


def test_gates_of_two_machines_are_asked_one_after_the_other(recorder, run):
    """Each question says in which state which machine waits; each answer moves the one that was asked."""
    one, two = gated_of("checkpointed", recorder), gated_of("checkpointed", recorder, name="second")
    agent = agent_with(recorder, one, two, script=[*SCRIPT[1:3], "done"])
    state = run(agent, asked())
    waited = []
    while state.interrupts:
        (question,) = state.interrupts
        waited += [key for key in question.value if key.endswith("_state")]
        state = run(agent, Command(resume={"event_label": "Approval", "review": question.value["review"]}))
    assert waited == ["fsm_state", "second_state"]
    assert recorder.names == ["search", "book"]
    assert (state.values["fsm_state"], state.values["second_state"]) == ("done", "done")


def test_one_ledger_for_two(recorder):
    """Each entry says by its contract whose it is."""
    sink = MemorySink()
    ledger = Ledger(sink)
    fsm, tools = once(recorder)
    ours = [
        CheckpointedProtocolMiddleware(
            machine(recorder), tool_refs=[ref(each) for each in recorder.tools], ledger=ledger
        ),
        CheckpointedProtocolMiddleware(fsm, tool_refs=tools, ledger=ledger, name="limit"),
    ]
    agent = agent_with(recorder, *(each.middleware for each in ours))
    agent.invoke(asked(), config())
    for each in ours:
        digest = each.middleware._law.policy.contract.digest
        assert sum(digest in line for line in sink.data.decode().splitlines()) >= 4


# -- names that cannot be ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [*product(KINDS, KINDS)])
def test_two_of_one_name_are_an_error_when_the_agent_is_made(recorder, first, second):
    pair = [booking_of(kind, recorder, name="same") for kind in (first, second)]
    with pytest.raises(UsageError, match=r"both keep `same` in its state; give one of them another name, as in name="):
        agent_with(recorder, *pair)


def test_two_without_a_name(recorder):
    for first, second in [("contract", "contract"), ("checkpointed", "enforcer"), ("checkpointed", "checkpointed")]:
        with pytest.raises(UsageError, match="give one of them another name"):
            agent_with(recorder, booking_of(first, recorder), booking_of(second, recorder))
    agent_with(recorder, booking_of("contract", recorder), booking_of("checkpointed", recorder))


def test_names_of_which_one_keeps_what_the_other_is_called_by(recorder):
    pair = [booking_of("checkpointed", recorder, name="a"), booking_of("contract", recorder, name="a_state")]
    with pytest.raises(UsageError, match="both keep `a_state`"):
        agent_with(recorder, *pair)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["", "a b", "1a", 3, None, "messages", "jump_to", "structured_response"])
def test_what_is_no_name(recorder, kind, name):
    with pytest.raises(UsageError, match=r"the name of a middleware is an identifier|a key that every agent has"):
        booking_of(kind, recorder, name=name)


def test_one_middleware_on_several_agents(recorder):
    """It is only in one agent that names have to differ."""
    shared = booking_of("contract", recorder)
    for _ in range(2):
        agent_with(recorder, shared)
    agent_with(recorder, booking_of("contract", recorder))
    with pytest.raises(UsageError, match="both keep `accord`"):
        agent_with(recorder, shared, shared)


def test_others_may_name_what_ours_show(recorder):
    """A middleware of one's own that reads it says so in its state."""

    class Reads(AgentMiddleware):
        state_schema = ProtocolState

        def after_agent(self, state, runtime):  # noqa: ARG002 - as LangChain calls it
            seen.append(state.get("fsm_state"))

    seen = []
    agent = agent_with(recorder, Reads(), booking_of("checkpointed", recorder))
    agent.invoke(asked(), config())
    assert seen == ["done"]
