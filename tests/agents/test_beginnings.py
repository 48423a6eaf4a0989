"""When a session of a thread begins, and when it is over: the first is the first, whatever is allowed in it at once."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.tools import tool

from accord import MemoryStore, UsageError
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

VERIFIED = 'rule "verified first" { before lookup_order require verify_identity }'
ORDERS = "each order_id: !lookup_order.?lookup_order.end"
OPEN_ENDED = {
    "a sliced protocol": f"protocol Orders open = {ORDERS}",
    "a sliced protocol behind a rule": f"protocol Orders open = {ORDERS} {VERIFIED}",
    "a sliced protocol behind a sliced rule": f"protocol Orders open = {ORDERS} "
    'rule "once" { each order_id: at most 1 lookup_order } ' + VERIFIED,
    "a sliced protocol behind a rule with time": f"protocol Orders open = {ORDERS} {VERIFIED} "
    'rule "soon" { within 1h after verify_identity require lookup_order }',
    "rules alone": VERIFIED,
}
BARRED = {
    "nothing at all": "end",
    "a protocol that a rule bars": f"protocol P = rec L.{{!lookup_order.?lookup_order.L, end}} {VERIFIED}",
    "a protocol with a deadline that a rule bars": VERIFIED
    + "protocol P = rec L.{!lookup_order.?lookup_order within 60s else (end).L, end}",
    "a sliced protocol that a rule bars": f"protocol P = {ORDERS} "
    'rule "never" { at most 0 lookup_order } rule "nor" { at most 0 verify_identity }',
}
WAYS = {
    "sync": lambda agent, *given: agent.invoke(*given),
    "async": lambda agent, *given: asyncio.run(agent.ainvoke(*given)),
}


class Few(MemoryStore):
    """A store that nobody needs to ask about many sessions."""

    def __init__(self):
        super().__init__()
        self.looked = set()

    def _looked_at(self, key):
        self.looked.add(key)
        if len(self.looked) > 10:
            raise UsageError(f"somebody looks for a session that is not there: {key}")

    def row(self, key):
        self._looked_at(key)
        return super().row(key)

    def exchange(self, key, before, judge):
        self._looked_at(key)
        return super().exchange(key, before, judge)


@pytest.fixture
def recorder():
    found = Recorder()

    @tool
    def verify_identity(name: str = "ana") -> str:
        """Verify who it is."""
        found.ran.append(("verify_identity", name))
        return "verified"

    @tool
    def lookup_order(order_id: int) -> str:
        """Look an order up."""
        found.ran.append(("lookup_order", order_id))
        return f"order {order_id}"

    found.tools += [verify_identity, lookup_order]
    return found


@pytest.fixture(params=["checkpoint", "store"])
def kept(request):
    return {"store": Few()} if request.param == "store" else {}


@pytest.fixture(params=WAYS)
def turn(request):
    return WAYS[request.param]


@pytest.mark.parametrize("contract", OPEN_ENDED)
def test_a_session_without_an_end_is_the_only_one_of_its_thread(recorder, kept, turn, contract):
    script = [
        say(call("verify_identity", "a")),
        say(call("lookup_order", "b", order_id=1)),
        "anything else?",
        say(call("lookup_order", "c", order_id=2)),
        "done",
    ]
    agent, _ = agent_of(script, AccordMiddleware(OPEN_ENDED[contract], **kept), recorder)
    for text, answers in (("look up 1", ["verified", "order 1"]), ("and 2", ["verified", "order 1", "order 2"])):
        result = turn(agent, asked(text), config())
        assert told(result) == answers
        assert (result["accord"]["session"], result["accord"]["status"]) == ("t", "complete")
    if kept:
        assert [each.key for each in kept["store"].sessions()] == ["t"]
        assert kept["store"].verify("t").ok


def test_a_sliced_protocol_that_is_not_open_refuses_what_it_does_not_name(recorder, kept, turn):
    script = [say(call("verify_identity", "a")), say(call("lookup_order", "b", order_id=1)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(f"protocol Orders = {ORDERS}", **kept), recorder)
    result = turn(agent, asked(), config())
    refused, found = told(result)
    assert refused.startswith("error: `verify_identity` is not allowed: the protocol does not name it.")
    assert (found, recorder.ran) == ("order 1", [("lookup_order", 1)])


@pytest.mark.parametrize("contract", BARRED)
def test_a_session_in_which_nothing_can_happen_is_no_reason_for_another(recorder, kept, turn, contract):
    script = [say(call("lookup_order", "a", order_id=1)), "sorry", say(call("lookup_order", "b", order_id=1)), "sorry"]
    agent, _ = agent_of(script, AccordMiddleware(BARRED[contract], **kept), recorder)
    for text in ("look up 1", "please"):
        result = turn(agent, asked(text), config())
        assert told(result)[-1].startswith("error")
        assert result["accord"]["session"] == "t"
    assert recorder.ran == []


def test_a_checkpoint_that_is_lost_leads_to_the_session_in_the_store(recorder, turn):
    """A new checkpoint finds the one session of the thread, and a user who comes back begins its protocol again."""
    store = Few()
    for number in range(3):
        script = [say(call("book", f"a{number}")), "done"]
        middleware = AccordMiddleware("!book.?book.end", store=store, when_over="restart")
        agent, _ = agent_of(script, middleware, recorder)
        result = turn(agent, asked(), config())
        assert (result["accord"]["session"], result["accord"]["status"]) == ("t", "complete")
    assert recorder.names == ["book"] * 3
    assert [each.key for each in store.sessions()] == ["t"]


def test_a_state_machine_that_begins_at_its_end(recorder, turn):
    fsm = ProtocolFSM(initial="over").mark_terminal("over")
    middleware = CheckpointedProtocolMiddleware(fsm).middleware
    agent, _ = agent_of(["hello", "hello again"], middleware, recorder)
    for text in ("hello", "and?"):
        result = turn(agent, asked(text), config())
        assert (result["fsm"]["session"], result["fsm"]["status"]) == ("t", "complete")
