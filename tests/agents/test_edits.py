"""Calls that people change in LangChain's own HumanInTheLoopMiddleware, and what else changes calls on their way."""

from __future__ import annotations

import asyncio
import warnings

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.agents.middleware import human_in_the_loop as theirs
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import Ledger, MemorySink, MemoryStore, NotDone, OrderWarning
from accord.langchain import AccordMiddleware
from accord.langchain.edits import EDITS
from tests.agents.protocols import BOOKING, KINDS, booking_of
from tests.agents.scripted import Recorder, Scripted, asked, call, config, reported, say, told

BIG = """
rule "big" { before each book(amount > 100) require ?Approval by human }
rule "huge" { at most 0 book(amount > 1000) }
"""
SCRIPT = [say(call("search", "a")), say(call("book", "b")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=["sync", "async", "stream", "astream"])
def run(request):
    def step(agent, given):
        if request.param == "sync":
            agent.invoke(given, config())
        elif request.param == "async":
            asyncio.run(agent.ainvoke(given, config()))
        elif request.param == "stream":
            list(agent.stream(given, config(), stream_mode="updates"))
        else:
            asyncio.run(streamed(agent, given))
        return agent.get_state(config())

    return step


async def streamed(agent, given):
    return [chunk async for chunk in agent.astream(given, config(), stream_mode=["values", "messages"])]


def edit(name="book", **arguments):
    return {"type": "edit", "edited_action": {"name": name, "args": arguments}}


def decisions(*given):
    return Command(resume={"decisions": list(given)})


def agent_with(script, recorder, *middleware, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        model = Scripted(script=script)
        return create_agent(model, recorder.tools, middleware=middleware, checkpointer=InMemorySaver(), **more)


def of(values, call_id):
    return next(message.content for message in values["messages"] if getattr(message, "tool_call_id", None) == call_id)


def test_edits_are_where_langchain_keeps_them():
    assert theirs._EDITED_TOOL_CALLS_KEY == EDITS


@pytest.mark.parametrize("keeping", ["checkpoint", "store"])
def test_each_call_of_a_batch_is_judged_as_a_person_has_changed_it(recorder, run, keeping):
    """Some run, one waits for a person of ours, one is refused, one is rejected there, one becomes another call."""
    batch = say(*(call("book", name, flight=name) for name in "uvwxy"), call("book", "z"), call("search", "s"))
    ours = AccordMiddleware(BIG, store=MemoryStore() if keeping == "store" else None)
    agent = agent_with([batch, "done"], recorder, ours, HumanInTheLoopMiddleware({"book": True}))
    run(agent, asked())
    changes = [edit(flight=name, amount=amount) for name, amount in (("u", 50), ("v", 500), ("w", 5000))]
    given = [*changes, {"type": "reject"}, {"type": "approve"}, edit("search", city="Oslo")]
    state = run(agent, decisions(*given))
    (question,) = state.interrupts
    assert question.value["action"]["arguments"] == {"flight": "v", "amount": 500}
    assert recorder.ran == []
    answer = {"event_label": "Approval", "by": "ana"}
    state = run(agent, Command(resume=answer))  # what it is for is not said, and somebody has changed the call
    (question,) = state.interrupts
    assert "does not say which question" in question.value["error"]
    state = run(agent, Command(resume={**answer, "review": question.value["review"]}))
    assert sorted(recorder.ran) == [
        ("book", "u", 50), ("book", "v", 500), ("book", "y", 10), ("search", "Oslo"), ("search", "Rome")
    ]  # fmt: skip
    assert of(state.values, "w").startswith("error: a person has changed this call to `book` with ")
    assert "is refused by the rule" in of(state.values, "w")
    assert of(state.values, "x").startswith("User rejected")
    assert "Executed instead: search" in of(state.values, "z")
    assert reported(state.values)["out"] == []
    assert len(told(state.values)) == 7


def test_a_person_of_ours_changes_what_a_person_there_has_changed(recorder, run):
    """What was decided last runs, and that is what the model is told."""
    agent = agent_with(
        [say(call("book", "b")), "done"], recorder, AccordMiddleware(BIG), HumanInTheLoopMiddleware({"book": True})
    )
    run(agent, asked())
    (question,) = run(agent, decisions(edit(flight="v", amount=500))).interrupts
    answer = {"event_label": "modify", "by": "ana", "payload": {"flight": "v", "amount": 600}}
    state = run(agent, Command(resume={**answer, "review": question.value["review"]}))
    assert recorder.ran == [("book", "v", 600)]
    assert 'Executed instead: book with arguments {"flight": "v", "amount": 600}' in of(state.values, "b")


def test_what_a_person_leaves_out_is_filled_in_before_it_is_judged(recorder, run):
    agent = agent_with(
        [say(call("book", "b", amount=20)), "done"], recorder,
        AccordMiddleware('rule "ten" { at most 0 book(amount == 10) }'), HumanInTheLoopMiddleware({"book": True}),
    )  # fmt: skip
    run(agent, asked())
    state = run(agent, decisions(edit(flight="v")))
    assert recorder.ran == []
    assert "rule `ten`" in of(state.values, "b")


def test_a_ledger_has_the_call_as_it_ran(recorder):
    sink = MemorySink()
    ours = AccordMiddleware("!search.?search.!book(amount <= 100).?book.end", ledger=Ledger(sink))
    agent = agent_with(SCRIPT, recorder, ours, HumanInTheLoopMiddleware({"book": True}))
    agent.invoke(asked(), config())
    agent.invoke(decisions(edit(flight="v", amount=77)), config())
    trail = sink.data.decode()
    assert '"amount":77' in trail
    assert '"amount":10' not in trail


def test_a_tool_that_there_is_not(recorder, run):
    ours = AccordMiddleware('rule "once" { at most 1 book }')
    agent = agent_with(SCRIPT, recorder, ours, HumanInTheLoopMiddleware({"book": True}))
    run(agent, asked())
    state = run(agent, decisions(edit("bok", flight="v")))
    assert recorder.names == ["search"]
    assert "bok is not a valid tool" in of(state.values, "b")
    assert (reported(state.values)["out"], reported(state.values)["status"]) == ([], "complete")


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_wrong_order_the_model_is_told_what_to_call(kind, recorder, run):
    def obey(messages):
        assert messages[-1].content.endswith(
            "so this one is not run. To have it run, call `book` again, under a new id, with these arguments: "
            '{"flight": "v", "amount": 20}'
        )
        return say(call("book", "c", flight="v", amount=20))

    agent = agent_with(
        [*SCRIPT[:2], obey, "done"], recorder, HumanInTheLoopMiddleware({"book": True}), booking_of(kind, recorder)
    )
    run(agent, asked())
    run(agent, decisions(edit(flight="v", amount=20)))
    assert recorder.names == ["search"]
    state = run(agent, decisions({"type": "approve"}))
    assert recorder.ran[1:] == [("book", "v", 20)]
    assert reported(state.values)["status"] == "complete"


def test_whoever_only_observes_stops_no_edit(recorder, run):
    for place in (0, 1):
        recorder.ran.clear()
        ours = AccordMiddleware(BOOKING, on_violation="observe")
        middleware = [ours]
        middleware.insert(place, HumanInTheLoopMiddleware({"book": True}))
        with warnings.catch_warnings():
            warnings.simplefilter("error", OrderWarning)
            model = Scripted(script=SCRIPT)
            agent = create_agent(model, recorder.tools, middleware=middleware, checkpointer=InMemorySaver())
        run(agent, asked())
        state = run(agent, decisions(edit(flight="v", amount=20)))
        assert recorder.ran[1:] == [("book", "v", 20)]
        assert reported(state.values)["out"] == []


# -- when the agent is made --------------------------------------------------------------------------------------------


def human(mode="batched", *allowed):
    return HumanInTheLoopMiddleware({"book": {"allowed_decisions": allowed or ("edit",)}}, interrupt_mode=mode)


def make(*middleware):
    return create_agent(Scripted(script=SCRIPT), Recorder().tools, middleware=middleware)


def test_an_order_in_which_no_edit_runs_is_told():
    with pytest.warns(OrderWarning, match="list it behind AccordMiddleware, or do not allow `edit`") as said:
        make(human(), AccordMiddleware(BOOKING))
    assert len(said) == 1
    assert said[0].filename == __file__
    with pytest.warns(OrderWarning, match="list it behind AccordMiddleware.two"):
        make(AccordMiddleware(BOOKING), human(), AccordMiddleware(BOOKING, name="two"))
    for middleware in ([human("per_call"), AccordMiddleware(BOOKING)], [AccordMiddleware(BOOKING), human("per_call")]):
        with pytest.warns(OrderWarning, match='ask with interrupt_mode="batched", behind it'):
            make(*middleware)


def test_no_other_order_is_told():
    """Warnings are errors in these tests."""
    watched = Recorder()
    make(AccordMiddleware(BOOKING), human())
    make(AccordMiddleware(BOOKING), AccordMiddleware(BOOKING, name="two"), human())
    make(human("batched", "approve", "reject"), AccordMiddleware(BOOKING))
    make(human("per_call", "approve", "reject"), AccordMiddleware(BOOKING))
    make(human(), AccordMiddleware(BOOKING, on_violation="observe"))
    make(HumanInTheLoopMiddleware({"other": True}), booking_of("checkpointed", watched))
    make(human())


# -- whoever else changes a call ---------------------------------------------------------------------------------------


class Changes(AgentMiddleware):
    """Puts something else in the place of a call, behind us."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def wrap_tool_call(self, request, handler):
        return handler(self.change(request)) if request.tool_call["name"] == "book" else handler(request)

    async def awrap_tool_call(self, request, handler):
        return await (handler(self.change(request)) if request.tool_call["name"] == "book" else handler(request))


def arguments(request):
    return request.override(tool_call={**request.tool_call, "args": {"flight": "v", "amount": 999}})


def in_place(request):
    request.tool_call["args"]["amount"] = 999
    return request


def one_less(request):
    request.tool_call["args"].pop("amount")
    return request


def another_tool(request):
    other = next(each for each in request.runtime.tools if each.name == "fail")
    return request.override(tool=other, tool_call={**request.tool_call, "name": "fail", "args": {}})


def another_tool_alone(request):
    @tool
    def refund(flight: str = "AZ1", amount: int = 10) -> str:
        """Book nothing."""
        raise AssertionError("it ran")

    return request.override(tool=refund)


def another_request(request):
    return type(request)({**request.tool_call, "args": {"amount": 999}}, request.tool, request.state, request.runtime)


@pytest.mark.parametrize("tool_errors", ["tell", "raise"])
@pytest.mark.parametrize("change", [arguments, in_place, one_less, another_tool, another_tool_alone, another_request])
def test_what_was_not_judged_does_not_enter_a_tool(recorder, run, change, tool_errors):
    ours = AccordMiddleware('rule "once" { at most 1 book }', tool_errors=tool_errors)
    agent = agent_with([SCRIPT[0], say(call("book", "b", amount=20)), "done"], recorder, ours, Changes(change))
    state = run(agent, asked())
    assert recorder.names == ["search"]
    assert of(state.values, "b").startswith(
        "error: `book` was changed after it was decided about, so it was not run. To have it run, call"
    )
    assert reported(state.values)["out"] == []
    agent.update_state(config(), {"messages": [("user", "again")]})
    assert reported(state.values)["status"] == "complete"


def test_what_is_changed_within_an_argument_does_not_enter_either(run):
    sent = []

    @tool
    def book(to: list[str]) -> str:
        """Book for all of these."""
        sent.append(to)
        return "booked"

    def one_more(request):
        request.tool_call["args"]["to"].append("eve")
        return request

    recorder = Recorder()
    recorder.tools = [book]
    agent = agent_with(
        [say(call("book", "b", to=["ana"])), "done"], recorder, AccordMiddleware("!book.?book.end"), Changes(one_more)
    )
    state = run(agent, asked())
    assert sent == []
    assert of(state.values, "b").startswith("error: `book` was changed")


def test_a_call_that_was_kept_out_is_taken_back(recorder, run):
    """It has not happened, whatever a failure of it would mean: of one booking that is allowed none is used up."""
    left = [arguments]

    def first(request):
        return left.pop()(request) if left else request

    ours = AccordMiddleware('rule "once" { at most 1 book }')
    agent = agent_with([SCRIPT[1], say(call("book", "c")), "done"], recorder, ours, Changes(first))
    run(agent, asked())
    assert recorder.ran == [("book", "AZ1", 10)]


def test_who_swallows_the_error_is_not_believed(recorder, run):
    """A middleware between makes a message of it; the call has not failed, it was kept out."""

    class Swallows(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            try:
                return handler(request)
            except NotDone as error:
                return f"done, {error}"

        async def awrap_tool_call(self, request, handler):
            try:
                return await handler(request)
            except NotDone as error:
                return f"done, {error}"

    ours = AccordMiddleware('rule "once" { at most 1 book }')
    agent = agent_with(SCRIPT, recorder, ours, Swallows(), Changes(arguments))
    state = run(agent, asked())
    assert of(state.values, "b").startswith("error: `book` was changed")


def test_what_a_tool_calls_itself_is_its_own_business(recorder, run):
    @tool
    def inside(flight: str, amount: int = 1) -> str:
        """Book inside."""
        return f"{flight} for {amount}"

    @tool
    def book_both(flight: str = "AZ1") -> str:
        """Book with another tool."""
        given = {"name": "inside", "args": {"flight": flight}, "id": "b", "type": "tool_call"}
        return inside.invoke(given).content + inside.invoke({"flight": "AZ2"})

    recorder.tools.append(book_both)
    agent = agent_with([say(call("book_both", "b")), "done"], recorder, AccordMiddleware("!book_both.?book_both.end"))
    state = run(agent, asked())
    assert told(state.values) == ["AZ1 for 1AZ2 for 1"]
    assert reported(state.values)["status"] == "complete"


def test_two_of_ours_of_which_one_changes_a_call(recorder, run):
    """What a person allows to one is no more than what the other one has judged."""
    cap = AccordMiddleware('rule "cap" { at most 0 book(amount > 100) }', name="cap")
    gate = AccordMiddleware('rule "asked" { before each book require ?Approval by human }', reviewer="ana")
    answer = {"event_label": "modify", "payload": {"flight": "v", "amount": 999}}
    for middleware in ([cap, gate], [gate, cap]):
        recorder.ran.clear()
        agent = agent_with([SCRIPT[1], "done"], recorder, *middleware)
        run(agent, asked())
        state = run(agent, Command(resume=answer))
        assert recorder.ran == []
        assert "call `book` again" in of(state.values, "b")
        assert (reported(state.values)["out"], state.values["cap"]["out"]) == ([], [])


def test_an_answer_is_not_given_twice(recorder):
    """Where a graph sends off a call that was answered, models see one answer to it."""

    class Jumps(AgentMiddleware):
        def after_model(self, state, runtime):  # noqa: ARG002 - as LangChain calls it
            return {"jump_to": "tools"} if getattr(state["messages"][-1], "status", "") == "error" else None

    Jumps.after_model.__can_jump_to__ = ["tools"]
    agent = agent_with([say(call("book", "b")), "done"], recorder, Jumps(), AccordMiddleware(BOOKING))
    result = agent.invoke(asked(), config())
    assert recorder.ran == []
    assert told(result) == ["error: `book` is not allowed yet: first call `search`, then `book`."]


def test_a_retry_of_a_call_that_is_right(recorder, run):
    """Whatever runs a tool several times behind us may; each time it is what was judged."""

    class Twice(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            handler(request)
            return handler(request)

        async def awrap_tool_call(self, request, handler):
            await handler(request)
            return await handler(request)

    agent = agent_with(SCRIPT, recorder, AccordMiddleware(BOOKING), Twice())
    state = run(agent, asked())
    assert recorder.names == ["search", "search", "book", "book"]
    assert reported(state.values)["status"] == "complete"


def test_a_second_try_is_held_to_what_was_judged_too(recorder, run):
    class Second(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            done = handler(request)
            with pytest.raises(NotDone, match="was changed after it was decided about"):
                handler(arguments(request))
            return done

        async def awrap_tool_call(self, request, handler):
            done = await handler(request)
            with pytest.raises(NotDone, match="was changed after it was decided about"):
                await handler(arguments(request))
            return done

    agent = agent_with([SCRIPT[1], "done"], recorder, AccordMiddleware("!book.?book.end"), Second())
    state = run(agent, asked())
    assert recorder.ran == [("book", "AZ1", 10)]
    assert reported(state.values)["status"] == "complete"


def test_another_process_goes_on_where_a_person_was_asked():
    """It knows the tools from the agent that it has made, so what the person has left out is filled in."""
    saver, worlds = InMemorySaver(), [Recorder(), Recorder()]
    agents = [
        create_agent(
            Scripted(script=[say(call("book", "b", amount=20)), "done"]), recorder.tools, checkpointer=saver,
            middleware=[
                AccordMiddleware('rule "big" { at most 0 book(amount > 100) }'),
                HumanInTheLoopMiddleware({"book": True}),
            ],
        )
        for recorder in worlds
    ]  # fmt: skip
    agents[0].invoke(asked(), config())
    result = agents[1].invoke(decisions(edit(flight="v")), config())
    assert (worlds[0].ran, worlds[1].ran) == ([], [("book", "v", 10)])
    assert result["accord"]["status"] == "complete"
