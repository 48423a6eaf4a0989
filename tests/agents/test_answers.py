"""An answer is for the question that was asked, and for no other: duplicates, several questions, edits meanwhile."""

from __future__ import annotations

import asyncio
import json
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import CorruptSessionError, Guard, Ledger, MemorySink, MemoryStore, Ok, ToolCall
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    Transition,
    ref,
)
from tests.agents.scripted import Scripted, asked, call, config, say, told

PAYING = 'rule "one approval for each" { before each pay require Approval by human }'
APPROVE = {"event_label": "approve", "by": "ana"}
DENY = {"event_label": "deny", "by": "bob"}
HUGE = 1_000_000


class Till:
    """A tool that pays, and what it has paid."""

    def __init__(self):
        self.paid = []

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        self.tools = [pay]


@pytest.fixture
def till():
    return Till()


def paying(till, *lines, contract=PAYING, before=(), after=(), **options):
    """An agent that says these lines, with other middlewares before and after ours."""
    guarded = AccordMiddleware(contract, **options)
    model = Scripted(script=[*lines, "done", "done", "done"])
    middleware = [*before, guarded, *after]
    return create_agent(model, till.tools, middleware=middleware, checkpointer=InMemorySaver()), guarded


def both():
    return say(call("pay", "small", amount=1), call("pay", "huge", amount=HUGE))


def shown(result):
    (question,) = result["__interrupt__"]
    return question.value


def ids(result):
    """The ids of the questions of an interrupt, by the amount they are about."""
    value = shown(result)
    return {each["action"]["arguments"]["amount"]: each["review"] for each in value.get("questions", [value])}


def start(agent, text="go"):
    return agent.invoke(asked(text), config())


def resume(agent, answer):
    return agent.invoke(Command(resume=answer), config())


def edit(agent, amount, **more):
    """Somebody writes another amount into the last message of the model."""
    last = agent.get_state(config()).values["messages"][-1]
    calls = [{**each, "args": {"amount": amount}} for each in last.tool_calls]
    agent.update_state(config(), {"messages": [last.model_copy(update={"tool_calls": calls})], **more})


@pytest.fixture(params=["checkpoint", "store"])
def kept(request):
    return {"store": MemoryStore()} if request.param == "store" else {}


# -- several questions at once -----------------------------------------------------------------------------------------


def test_all_questions_of_a_batch_are_asked_at_once(till, kept):
    ledger = {} if kept else {"ledger": Ledger(MemorySink())}
    agent, _ = paying(till, both(), **kept, **ledger)
    result = start(agent)
    assert shown(result) == {
        "type": "accord.reviews",
        "session": "t",
        "to": "human",
        "question": "2 questions wait for a person. Answer each by its `review`.",
        "questions": [
            {
                "type": "accord.review",
                "question": "May the agent call `pay` with these arguments?",
                "choices": ["Approval", "approve", "deny", "modify"],
                "action": {"tool": "pay", "arguments": {"amount": amount}, "call_id": identity},
                "review": review,
            }
            for amount, identity, review in ((1, "small", "1-a048dd6c"), (HUGE, "huge", "2-e3a0551d"))
        ],
    }
    answers = ids(result)
    result = resume(agent, {"decisions": {answers[1]: APPROVE, answers[HUGE]: DENY}})
    assert "__interrupt__" not in result
    assert till.paid == [1]
    assert told(result)[0].startswith("error: `pay` was denied by bob")


@pytest.mark.parametrize("answer", ["approve", APPROVE, {"event_label": "Approval", "by": "ana"}])
def test_a_double_click_pays_nothing_where_several_were_asked(till, answer, kept):
    agent, _ = paying(till, both(), reviewer="the desk", **kept)
    start(agent)
    for _ in range(3):
        result = resume(agent, answer)
        assert "does not say which question it is for, and more than one was asked" in shown(result)["error"]
        assert "Nothing was decided" in shown(result)["error"]
        assert set(ids(result)) == {1, HUGE}
    assert till.paid == []


def test_a_double_click_of_an_answer_by_id_answers_nothing_else(till, kept):
    agent, _ = paying(till, both(), **kept)
    first, huge = ids(start(agent)).values()
    for answer in ({**APPROVE, "review": first}, {"decisions": {first: APPROVE}}, {"decisions": {first: "approve"}}):
        result = resume(agent, answer)
        assert shown(result)["review"] == huge
        assert till.paid == []  # nothing of the batch before all of it is decided
    assert (
        f"the question `{first}` is not open (it was answered, or what it was about has changed)"
        in shown(result)["error"]
    )
    result = resume(agent, APPROVE)  # one is left, but it is not the only one that was asked
    assert "more than one was asked" in shown(result)["error"]
    resume(agent, {**DENY, "review": huge})
    assert till.paid == [1]


def test_the_answer_to_one_question_does_not_answer_that_of_the_next_message(till, kept):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), say(call("pay", "b", amount=HUGE)), **kept)
    (first,) = ids(start(agent)).values()
    for _ in range(2):
        result = resume(agent, {**APPROVE, "review": first})
        assert set(ids(result)) == {HUGE}
    assert "is not open" in shown(result)["error"]
    assert till.paid == [1]


def test_the_answer_to_one_contract_does_not_answer_another(till):
    """Both ask about the same call, each for itself."""
    second = AccordMiddleware(PAYING.replace("one approval", "another approval"), name="billing")
    agent, _ = paying(till, say(call("pay", "a", amount=1)), before=[second])
    (first,) = ids(start(agent)).values()
    for _ in range(2):
        result = resume(agent, {**APPROVE, "review": first})
        assert ids(result).keys() == {1}
    assert "is not open" in shown(result)["error"]
    assert till.paid == []
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [1]


def test_the_answer_to_an_agent_inside_does_not_answer_it_when_it_is_run_again(till):
    inner = create_agent(
        Scripted(script=[say(call("pay", "a", amount=1)), "paid"]), till.tools, middleware=[AccordMiddleware(PAYING)]
    )

    @tool
    def ask() -> str:
        """Ask the agent inside."""
        return inner.invoke(asked())["messages"][-1].content

    script = [say(call("ask", "one")), say(call("ask", "two")), "done"]
    agent = create_agent(Scripted(script=script), [ask], checkpointer=InMemorySaver())
    (first,) = ids(start(agent)).values()
    for _ in range(2):
        result = resume(agent, {**APPROVE, "review": first})
    assert "is not open" in shown(result)["error"]
    assert till.paid == [1]
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [1, 1]


def test_where_every_answer_has_to_name_its_question(till, kept):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), by_id=True, **kept)
    (review,) = ids(start(agent)).values()
    assert "every answer has to" in shown(resume(agent, APPROVE))["error"]
    resume(agent, {**APPROVE, "review": review})
    assert till.paid == [1]


def test_two_equal_calls_are_two_questions(till, kept):
    agent, _ = paying(till, say(call("pay", "a", amount=5), call("pay", "b", amount=5)), reviewer="the desk", **kept)
    start(agent)
    resume(agent, "approve")
    result = resume(agent, "approve")
    assert "more than one was asked" in shown(result)["error"]
    assert till.paid == []
    resume(agent, {"review": shown(result)["review"], "event_label": "approve"})
    assert till.paid == [5, 5]


def test_two_people_are_asked_at_once_and_one_click_is_not_two(till, kept):
    agent, _ = paying(
        till, say(call("pay", "a", amount=5)), contract="?First by human.?Second by human.!pay.end", **kept
    )
    questions = shown(start(agent))["questions"]
    assert [each["choices"][0] for each in questions] == ["First", "Second"]
    for _ in range(2):
        assert len(shown(resume(agent, APPROVE))["questions"]) == 2
    resume(agent, {"decisions": {each["review"]: APPROVE for each in questions}})
    assert till.paid == [5]


BAD = [
    {}, [], None, "approve", {"zzz": APPROVE}, {"{1}": APPROVE, "zzz": DENY}, {"{1}": APPROVE, "{2}": "yes"},
    {"{1}": APPROVE, "{2}": {"event_label": "approve"}}, {"{1}": {**APPROVE, "review": "{2}"}},
    {"{1}": APPROVE, "{2}": {"event_label": "modify", "by": "ana", "payload": {"amount": -1}}}, {1: APPROVE},
]  # fmt: skip


@pytest.mark.parametrize("decisions", BAD)
def test_what_is_sent_at_once_is_taken_as_a_whole_or_not_at_all(till, decisions):
    contract = "rec L.?Approval by human.!pay(amount > 0).L"
    agent, _ = paying(till, both(), contract=contract)
    result = start(agent)
    one, two = ids(result).values()

    def put(value):
        if isinstance(value, dict):
            return {put(key): put(item) for key, item in value.items()}
        return {"{1}": one, "{2}": two}.get(value, value) if isinstance(value, str) else value

    result = resume(agent, {"decisions": put(decisions)})
    assert "othing was decided" in shown(result)["error"]
    assert set(ids(result).values()) == {one, two}
    assert "`decisions` stands alone" in shown(resume(agent, {"decisions": {one: APPROVE}, "by": "ana"}))["error"]
    resume(agent, {"decisions": {one: APPROVE, two: DENY}})
    assert till.paid == [1]


def test_decisions_for_event_loops(till):
    agent, _ = paying(till, both())

    async def go():
        result = await agent.ainvoke(asked(), config())
        one, two = ids(result).values()
        result = await agent.ainvoke(Command(resume="approve"), config())
        assert "more than one was asked" in shown(result)["error"]
        await agent.ainvoke(Command(resume={"decisions": {two: DENY, one: APPROVE}}), config())

    asyncio.run(go())
    assert till.paid == [1]


# -- what changed since it was shown -----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("secret", [None, b"a secret that nobody knows of"])
def test_arguments_that_were_edited_while_a_person_was_asked(till, kept, named, secret):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk", secret=secret, **kept)
    before = shown(start(agent))["review"]
    edit(agent, HUGE)
    result = resume(agent, {**APPROVE, "review": before} if named else "approve")
    assert till.paid == []
    assert ids(result).keys() == {HUGE}
    assert "has changed" in shown(result)["error"]
    result = resume(agent, "approve")  # a third click
    assert till.paid == []
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [HUGE]


@pytest.mark.parametrize("named", [False, True])
def test_arguments_that_come_with_the_answer(till, named):
    """One command can do both: write to the thread, and answer."""
    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk")
    before = shown(start(agent))["review"]
    last = agent.get_state(config()).values["messages"][-1]
    edited = last.model_copy(update={"tool_calls": [call("pay", "a", amount=HUGE)]})
    answer = {**APPROVE, "review": before} if named else "approve"
    result = agent.invoke(Command(resume=answer, update={"messages": [edited]}), config())
    assert till.paid == []
    assert "has changed" in shown(result)["error"]
    assert ids(result).keys() == {HUGE}


def test_a_call_that_somebody_adds_while_a_person_is_asked(till):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk")
    start(agent)
    added = AIMessage("", tool_calls=[call("pay", "z", amount=HUGE)])
    agent.update_state(config(), {"messages": [added]}, as_node="model")
    assert "has changed" in shown(resume(agent, "approve"))["error"]
    assert till.paid == []


def test_a_call_that_no_model_has_made(till):
    """Nobody has been shown it, so an answer that is there already is not for it."""
    agent, _ = paying(till, "hm", reviewer="the desk")
    agent.invoke(asked(), config(), interrupt_before=["model"])
    agent.update_state(config(), {"messages": [say(call("pay", "z", amount=HUGE))]}, as_node="model")
    assert "has changed" in shown(resume(agent, "approve"))["error"]
    assert till.paid == []


def test_something_else_that_is_written_to_the_thread_changes_no_question(till):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk")
    start(agent)
    agent.update_state(config(), {"structured_response": None})
    resume(agent, "approve")
    assert till.paid == [1]


def test_a_note_that_somebody_makes_is_not_believed(till):
    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk")
    start(agent)
    edit(agent, HUGE, accord_proposed='{"kept":{},"seal":"' + "0" * 64 + '"}')
    with pytest.raises(CorruptSessionError):
        resume(agent, "approve")
    assert till.paid == []


@pytest.mark.parametrize("named", [False, True])
def test_a_session_that_moves_while_a_person_is_asked_about_a_call(till, kept, named):
    """The first person's step is made by the program; what is open now is the second's."""
    contract = "?First by human.?Second by human.!pay.end"
    agent, guarded = paying(
        till, say(call("pay", "a", amount=5)), contract=contract, events=["First"], reviewer="the desk", **kept
    )
    first = shown(start(agent))["questions"][0]["review"]
    assert guarded.session(agent, config()).receive("First", {"amount": 5}, by="bob") == Ok()
    result = resume(agent, {**APPROVE, "review": first} if named else "approve")
    assert till.paid == []
    assert shown(result)["choices"][0] == "Second"
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [5]


@pytest.mark.parametrize("named", [False, True])
def test_a_session_that_moves_while_the_agent_waits_at_a_gate(till, kept, named):
    contract = "?Approval by human.?Approval by human.!pay.end"
    script = [say(call("pay", "a", amount=5))]
    told = {"gates": "session", "events": ["Approval"], "reviewer": "the desk"}
    agent, guarded = paying(till, *script, contract=contract, **told, **kept)
    before = shown(start(agent))["review"]
    assert guarded.session(agent, config()).receive("Approval", by="bob") == Ok()
    result = resume(agent, {**APPROVE, "review": before} if named else "approve")
    assert till.paid == []
    assert "has changed" in shown(result)["error"]
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [5]


def test_a_program_that_steps_between_two_turns_changes_no_question_of_the_next(till, kept):
    script = ["which?", say(call("pay", "a", amount=5))]
    contract = "?Order.?Approval by human.!pay.end"
    agent, guarded = paying(till, *script, contract=contract, events=["Order"], reviewer="the desk", **kept)
    start(agent)
    assert guarded.session(agent, config()).receive("Order") == Ok()
    start(agent, "now")
    resume(agent, "approve")
    assert till.paid == [5]


def test_a_gate_in_a_store_that_somebody_else_has_passed(till):
    """The answer was about another step than the one that is open now, so it makes none."""
    store, contract = MemoryStore(), "?Approval by human.!pay.?Approval by human.!pay.end"
    agent, _ = paying(till, say(call("pay", "b", amount=2)), contract=contract, gates="session", store=store)
    start(agent)
    other = Guard(contract, store=store, key="t", tools={"pay": lambda amount: f"paid {amount}"}, events=["Approval"])
    assert other.receive("Approval", by="bob") == Ok()
    assert other.run([ToolCall("pay", {"amount": 1}, "other")])[0].ok
    result = resume(agent, APPROVE)
    assert till.paid == []
    lines = [json.loads(line)["entry"] for line in store.lines("t", 0, 99)]
    assert [line["detail"] for line in lines if line.get("what") == "answer came too late"] == [
        {"label": "Approval", "by": "ana"}
    ]
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [2]


def test_each_round_of_a_gate_is_a_question_of_its_own(till):
    script = [say(call("pay", "a", amount=1)), say(call("pay", "b", amount=2))]
    agent, _ = paying(till, *script, contract="rec L.?Approval by human.!pay.?pay.L", gates="session")
    first = shown(start(agent))["review"]
    result = resume(agent, {**APPROVE, "review": first})
    assert till.paid == [1]
    assert shown(result)["review"] != first
    assert "is not open" in shown(resume(agent, {**APPROVE, "review": first}))["error"]
    assert till.paid == [1]


def test_a_late_answer_sent_twice_does_not_count_the_second_time(till):
    now = [0.0]
    script = [say(call("pay", "a", amount=1)), say(call("pay", "b", amount=1))]
    agent, _ = paying(till, *script, review_lasts=60, clock=lambda: now[0])
    first = shown(start(agent))["review"]
    now[0] = 1000.0
    for _ in range(2):
        result = resume(agent, {**APPROVE, "review": first})
        assert shown(result)["review"] != first
    assert till.paid == []


def twice_gated(till):
    """Two payments, each behind a step of a person."""
    pay = ref(till.tools[0])
    fsm = ProtocolFSM(initial="idle")
    for source, target in (("idle", "ready"), ("paid", "again")):
        step = {"event_label": "UserApproval", "phase": "recv", "interrupt": True}
        fsm.add_transition(Transition(source=source, target=target, **step))
    fsm.add_transition(Transition(source="ready", tool=pay, phase="send", target="paid"))
    fsm.add_transition(Transition(source="again", tool=pay, phase="send", target="over"))
    return fsm.mark_terminal("over"), [pay]


def agent_with(till, middleware):
    model = Scripted(script=[say(call("pay", "a", amount=1)), say(call("pay", "b", amount=HUGE)), "done"])
    return create_agent(model, till.tools, middleware=[middleware], checkpointer=InMemorySaver())


@pytest.mark.parametrize("kind", ["checkpointed", "enforcer"])
def test_state_machines_ask_again_too(till, kind):
    """They take an answer as the first users of them write it, and one with an id only for its question."""
    fsm, tools = twice_gated(till)
    if kind == "checkpointed":
        middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=tools).middleware
    else:
        middleware = ProtocolEnforcerMiddleware(monitor=ProtocolMonitor(fsm), tool_refs=tools).middleware
    agent = agent_with(till, middleware)
    first = shown(start(agent))["review"]
    for _ in range(2):
        result = resume(agent, {"event_label": "UserApproval", "review": first})
    assert "is not open" in shown(result)["error"]
    assert till.paid == [1]
    result = resume(agent, {"event_label": "UserApproval"})
    assert (till.paid, result["fsm_state"]) == ([1, HUGE], "over")


@pytest.mark.parametrize("named", [False, True])
def test_a_monitor_that_moves_while_the_agent_waits_at_a_gate(till, named):
    fsm, tools = twice_gated(till)
    monitor = ProtocolMonitor(fsm)
    agent = agent_with(till, ProtocolEnforcerMiddleware(monitor=monitor, tool_refs=tools).middleware)
    first = shown(start(agent))["review"]
    assert monitor.transition_event("UserApproval", "recv")
    assert monitor.transition(tools[0], "send")
    result = resume(agent, {"event_label": "UserApproval", **({"review": first} if named else {})})
    assert "has changed" in shown(result)["error"]
    assert (till.paid, monitor.state) == ([], "paid")
    resume(agent, {"event_label": "UserApproval", "review": shown(result)["review"]})
    assert till.paid == [1]


def test_a_state_machine_whose_questions_have_to_be_named(till):
    fsm, tools = twice_gated(till)
    agent = agent_with(till, CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=tools, by_id=True).middleware)
    start(agent)
    assert "every answer has to" in shown(resume(agent, {"event_label": "UserApproval"}))["error"]
    assert till.paid == []


# -- whatever is sent, in any order ------------------------------------------------------------------------------------

ANSWERS = st.one_of(
    st.just("bare"),
    st.tuples(st.just("one"), st.integers(0, 9), st.sampled_from([APPROVE, DENY])),
    st.tuples(st.just("several"), st.lists(st.tuples(st.integers(0, 9), st.sampled_from([APPROVE, DENY])), min_size=1)),
    st.tuples(st.just("edit"), st.integers(50, 59)),
    st.just("again"),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3), st.lists(ANSWERS, min_size=3, max_size=8))
@example([2], ["bare", "again", ("one", 0, APPROVE), "again", "bare", ("one", 1, DENY)])
@example(
    [1, 1], [("one", 0, APPROVE), "again", ("edit", 50), "again", "bare", ("one", 1, APPROVE), ("one", 2, APPROVE)]
)
def test_nothing_is_paid_that_was_not_approved_when_it_was_shown(batches, answers):
    till, amounts = Till(), count(1)
    lines = [
        say(*(call("pay", f"{turn}-{n}", amount=next(amounts)) for n in range(size)))
        for turn, size in enumerate(batches)
    ]
    agent, _ = paying(till, *lines, reviewer="the desk")
    result, known, approved, edited, last = start(agent), {}, set(), False, "approve"
    for answer in answers:
        if "__interrupt__" not in result:
            break
        is_open = {review: amount for amount, review in ids(result).items()}
        known.update(is_open)
        names = list(known)
        if answer[0] == "edit":
            edit(agent, answer[1])
            edited = True
            continue
        if answer[0] == "one":
            last = {**answer[2], "review": names[answer[1] % len(names)]}
        elif answer[0] == "several":
            last = {"decisions": {names[number % len(names)]: decision for number, decision in answer[1]}}
        elif answer == "bare":
            last = "approve"
        if not edited and last == "approve":
            approved |= set(is_open.values()) if len(is_open) == 1 else set()
        elif not edited:
            decisions = last.get("decisions") or {last["review"]: last}
            approved |= {is_open[name] for name in decisions if name in is_open and decisions[name]["by"] == "ana"}
        result, edited = resume(agent, last), False
    assert set(till.paid) <= approved
    assert len(till.paid) == len(set(till.paid)) or 50 <= max(till.paid) < 60


# -- what other middlewares make of it ---------------------------------------------------------------------------------


class Jumping(AgentMiddleware):
    """Sends the graph to its tools, whatever has been decided."""

    def __init__(self, hook, *, again=()):
        super().__init__()
        self.hook = hook
        self.again = list(again)
        self.jumped = 0

    def _jump(self, hook, state):
        last = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        if hook != self.hook or last is None or not last.tool_calls or self.jumped > 1:
            return None
        self.jumped += 1
        update = {"jump_to": "tools"}
        if self.again:
            update["messages"] = [last.model_copy(update={"tool_calls": self.again})]
        return update

    @hook_config(can_jump_to=["tools"])
    def before_model(self, state, runtime):  # noqa: ARG002 - as LangChain calls it
        return self._jump("before_model", state)

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state, runtime):  # noqa: ARG002 - as LangChain calls it
        return self._jump("after_model", state)


@pytest.mark.parametrize("again", [(), (call("pay", "huge", amount=HUGE),), (call("pay", "small", amount=HUGE),)])
@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("hook", ["before_model", "after_model"])
@pytest.mark.parametrize("clocked", [False, True])
def test_a_middleware_that_jumps_to_the_tools_runs_nothing_that_was_refused(till, hook, place, again, clocked):
    """Nor what has run already."""
    jumping = Jumping(hook, again=again)
    more = {"ledger": Ledger(MemorySink())} if clocked else {}
    agent, _ = paying(till, both(), **{place: [jumping]}, **more)
    result = start(agent)
    if "__interrupt__" in result:
        found = ids(result)
        resume(
            agent,
            {"decisions": {found[1]: APPROVE, found[HUGE]: DENY}}
            if len(found) > 1
            else {**DENY, "review": found[HUGE]},
        )
    assert jumping.jumped
    assert till.paid in ([], [1])


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_middleware_that_edits_calls(till, place):
    """What is asked about is what would run; and nobody has to name it who is asked about what the model has said."""

    class Editing(AgentMiddleware):
        def after_model(self, state, runtime):  # noqa: ARG002 - as LangChain calls it
            last = state["messages"][-1]
            if not isinstance(last, AIMessage) or not last.tool_calls:
                return None
            calls = [{**each, "args": {"amount": HUGE}} for each in last.tool_calls]
            return {"messages": [last.model_copy(update={"tool_calls": calls})]}

    agent, _ = paying(till, say(call("pay", "a", amount=1)), reviewer="the desk", **{place: [Editing()]})
    result = start(agent)
    if place == "before":  # it comes after us: what was approved is not what would run
        resume(agent, "approve")
        assert till.paid == []
        return
    assert ids(result).keys() == {HUGE}
    assert "has changed" in shown(resume(agent, "approve"))["error"]
    resume(agent, {**APPROVE, "review": shown(result)["review"]})
    assert till.paid == [HUGE]
