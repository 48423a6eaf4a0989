"""An auditor reads the ledger alone, and knows what happened, what people were shown, who decided what, and when.

Random agents with gates are driven by an impatient crew: it answers nonsense, says no, lets the process die while a
person is asked, or never answers at all. What tools did and what people saw and said is noted where it happens; the
auditor has only the lines of the ledger. Both have to tell the same story.
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import FileSink, Ledger, Ok, SQLiteStore, UsageError
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM, Transition, ref
from tests.agents.scripted import agent_of, asked, call, config, say
from tests.census import Census

CHUNKS, EACH = (10, 300) if os.environ.get("ACCORD_SOAK") else (1, 120)
TOOLS = ("search", "book", "pay")
GATES = ("Approval", "Consent", "Release")
PROMISE = "I promise it."
KINDS = ("call gates", "session gates", "rule", "state machine")


MET = (
    "checkpoint", "store", "asynchronous", "said before a question", "shows where it is", "shown results",
    "approve", "deny", "nonsense", "killed while asked", "never answered",
)  # fmt: skip
NEVER = {
    ("store", "state machine"): "its sessions are in checkpoints",
    ("said before a question", "session gates"): "nobody is asked about a call",
    ("said before a question", "rule"): "the rule has no such step",
    ("said before a question", "state machine"): "it hears structured responses only",
    **{("shows where it is", kind): "a contract has no states with names" for kind in KINDS if kind != "state machine"},
}


@dataclass
class Plan:
    """A random agent: what its protocol wants, what its model does, and what becomes of the questions."""

    kind: str
    keep: str
    asynchronous: bool
    steps: list[str]
    script: list = field(default_factory=list)
    contract: str = ""


class World:
    """What really happens, in the words of the auditor."""

    def __init__(self) -> None:
        self.story: list[tuple] = []
        self.tools = [self._tool(name) for name in TOOLS]

    def _tool(self, name):
        def run(amount: int = 0) -> str:
            """Do it."""
            value = {"did": name, "amount": amount}
            self.story.append(("called", name, {"amount": amount}))
            self.story.append(("returned", value))
            return json.dumps(value)

        return tool(name)(run)


def plan_of(dice: Random) -> Plan:
    kind = dice.choice(KINDS)
    keep = "checkpoint" if kind == "state machine" else dice.choice(["checkpoint", "checkpoint", "store"])
    plan = Plan(kind, keep, dice.random() < 0.3, _steps(dice, kind))
    plan.contract = _contract(plan)
    numbers = iter(range(100))
    for place, step in enumerate(plan.steps):
        if step in GATES:
            continue
        if dice.random() < 0.2:  # it is tried where it is not its turn
            plan.script.append(say(call(dice.choice(TOOLS), f"w{next(numbers)}", amount=-1)))
        amount = dice.randrange(20)
        promised = step == "pay" and "Promise" in plan.contract and "pay" not in plan.steps[:place]
        plan.script.append(say(call(step, f"c{next(numbers)}", amount=amount), text=PROMISE if promised else ""))
    plan.script += ["done"] * 9
    return plan


def _steps(dice: Random, kind: str) -> list[str]:
    """Calls, with gates between them; a call gate has a call behind it."""
    steps = []
    for _ in range(dice.randrange(2, 6)):
        if kind != "rule" and dice.random() < 0.5 and steps[-1:] not in [[gate] for gate in GATES]:
            steps.append(dice.choice(GATES))
        # A rule asks about payments alone.
        steps.append("pay" if kind == "rule" and dice.random() < 0.6 else dice.choice(TOOLS))
    return steps


def _contract(plan: Plan) -> str:
    if plan.kind == "rule":
        return 'rule "ask first" { before each pay(amount > 5) require Approval by human }'
    words = []
    for step in plan.steps:
        if step in GATES:
            words.append(f"?{step} by human")
        elif step == "pay" and "!Promise" not in words and plan.kind == "call gates":
            words += ["!Promise", "!pay"]
            gate = words[-3:-2]
            if gate and gate[0].startswith("?"):  # the promise is made before anybody is asked
                words[-3:] = ["!Promise", gate[0], "!pay"]
        else:
            words.append(f"!{step}")
    protocol = f"protocol P = {'.'.join(words)}.end"
    if "!Promise" not in words:
        return protocol
    return f'events {{ Promise when agent says matches "promise"\n as named otherwise }}\n{protocol}'


def machine_of(plan: Plan, tools) -> ProtocolFSM:
    fsm = ProtocolFSM(initial="s0")
    for number, step in enumerate(plan.steps):
        here, then = f"s{number}", f"s{number + 1}"
        if step in GATES:
            fsm.add_transition(Transition(source=here, event_label=step, phase="recv", target=then, interrupt=True))
            continue
        own = ref(next(each for each in tools if each.name == step))
        fsm.add_transition(Transition(source=here, tool=own, phase="send", target=f"{here}-out"))
        fsm.add_transition(Transition(source=f"{here}-out", tool=own, phase="recv", target=then))
    return fsm.mark_terminal(f"s{len(plan.steps)}")


class Life:
    """One agent, from its first turn to its end, over as many processes as it takes."""

    def __init__(self, plan: Plan, dice: Random, path) -> None:
        self.plan, self.dice, self.path = plan, dice, path
        self.met = [plan.keep, *["asynchronous"] * plan.asynchronous]
        self.world = World()
        self.saver = InMemorySaver()
        self.ledger = None
        self.begin()

    def begin(self) -> None:
        """A process begins: it has nothing but what was kept."""
        plan = self.plan
        if plan.keep == "store":
            self.store = SQLiteStore(self.path / "sessions.db")
            keeping = {"store": self.store}
        else:
            self.ledger = Ledger(FileSink(self.path / "ledger"))
            keeping = {"ledger": self.ledger}
        if plan.kind == "state machine":
            tools = [ref(each) for each in self.world.tools]
            middleware = CheckpointedProtocolMiddleware(machine_of(plan, self.world.tools), "block", tools, **keeping)
            middleware = middleware.middleware
        else:
            gates = "session" if plan.kind == "session gates" else "call"
            middleware = AccordMiddleware(plan.contract, gates=gates, **keeping)
        script = [self.saying(line) if getattr(line, "content", "") == PROMISE else line for line in plan.script]
        self.agent, _ = agent_of(script, middleware, self.world, checkpointer=self.saver)

    def saying(self, line):
        """What the model says is heard when it says it."""

        def say_it(_):
            self.world.story.append(("said",))
            return line

        return say_it

    def die(self) -> None:
        if self.plan.keep == "store":
            self.store.close()
        else:
            self.ledger.close()
        self.begin()

    def step(self, given):
        if self.plan.asynchronous:
            return asyncio.run(self.agent.ainvoke(given, config()))
        return self.agent.invoke(given, config())

    def live(self) -> None:
        result = self.step(asked())
        for _ in range(40):
            questions = result.get("__interrupt__")
            if not questions:
                return
            (question,) = questions
            shown = question.value
            self.met += ["said before a question"] * (self.world.story[-1:] == [("said",)])
            self.world.story.append(("asked", shown))
            self.check_shown(shown)
            if self.plan.kind == "state machine":
                self.met.append("shows where it is")
                assert result["fsm_state"] == self.agent.get_state(config()).values["fsm_state"] == shown["fsm_state"]
            fate = self.dice.random()
            if fate < 0.12:
                self.met.append("never answered")
                return
            if fate < 0.3:
                self.met.append("killed while asked")
                self.die()
            result = self.step(Command(resume=self.answer(shown)))
        raise AssertionError("it never ends")

    def check_shown(self, shown) -> None:
        """What has returned since the last answer, and nothing else."""
        since = []
        for fact in self.world.story[:-1]:
            if fact[0] == "answered":
                since = []
            elif fact[0] == "returned":
                since.append(fact[1])
        assert [each["result"] for each in shown.get("results", [])] == since
        self.met += ["shown results"] * bool(since)

    def answer(self, shown):
        reason = self.dice.choice([None, "fine", "as agreed"])
        label = self.dice.choice(["nonsense", *["approve"] * 4, "deny"])
        if label == "approve" and "approve" not in shown["choices"]:
            label = shown["choices"][0]
        said = {"event_label": label, "by": self.dice.choice(["ana", "bob"])}
        if reason:
            said["reason"] = reason
        if label != "nonsense":
            self.world.story.append(("answered", "no" if label == "deny" else "yes", said["by"], reason))
        self.met.append(label if label in {"nonsense", "deny"} else "approve")
        return said

    def lines(self):
        if self.plan.keep == "store":
            return self.store.lines("t", 0, 10_000)
        return lines_of(self.path)


def audit(lines) -> list[tuple]:
    """The story that a ledger tells; it knows nothing of the agent, its contract, or its checkpoints."""
    story: list[tuple] = []
    asked_for_step = False
    times = []
    for line in lines:
        entry = json.loads(line)["entry"]
        detail, event = entry.get("detail", {}), entry.get("event", "")
        times += [at for at in (entry.get("at"), detail.get("at")) if at is not None]
        if entry["act"] == "note":
            what = entry["what"]
            if what == "person asked":
                story.append(("asked", detail["shown"]))
                asked_for_step = detail["shown"]["type"] == "accord.gate"
                assert "at" in detail
            elif what in {"review decided", "denied"}:
                no = what == "denied" or detail["answer"] == "deny"
                story.append(("answered", "no" if no else "yes", detail["by"], detail.get("reason")))
                assert "at" in detail
            elif what == "call returned":
                story.append(("returned", _said(detail["result"])))
        elif event == "!Promise":
            story.append(("said",))
        elif entry["act"] == "attempt" and entry["verdict"] == "ok":
            if entry.get("by") and asked_for_step:
                story.append(("answered", "yes", entry["by"], (entry.get("meta") or {}).get("reason")))
            elif event.startswith("!") and "call" in (entry.get("meta") or {}):
                story.append(("called", event[1:], entry["payload"]))
            elif event.startswith("?") and not entry.get("by"):
                story.append(("returned", _said(entry["payload"])))
    assert all(earlier <= later for earlier, later in pairwise(times))
    return story


def _said(result):
    """What a tool has said, without what the ledger says about its call."""
    return {name: value for name, value in result.items() if name not in {"call", "call_id", "error"}}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_ledger_tells_what_happened(chunk, tmp_path, health):
    met = Census("agents that ask people", MET, KINDS, NEVER)
    for number in range(EACH):
        dice = Random(chunk * EACH + number)
        plan = plan_of(dice)
        path = tmp_path / str(number)
        path.mkdir()
        life = Life(plan, dice, path)
        life.live()
        met.add((each, plan.kind) for each in life.met)
        assert audit(life.lines()) == life.world.story, plan
    health(met.table())
    met.check(1)


def test_what_must_not_be_seen_is_shown_to_nobody(tmp_path):
    """Neither to the person nor in what the ledger has of the question; and not half of it where it is cut."""

    @tool
    def account(name: str = "ana") -> str:
        """Look it up."""
        return json.dumps({"iban": "DE89 3704", "note": "of DE89 3704 " + "x" * 3000 + "DE89 3704"})

    @tool
    def pay(iban: str = "DE89 3704", amount: int = 1) -> str:
        """Pay."""
        return "paid"

    ledger = Ledger(FileSink(tmp_path / "ledger"))
    for gates in ("call", "session"):
        middleware = AccordMiddleware(
            "!account.?account.?Approval by human.!pay.?pay.end",
            ledger=ledger, gates=gates, redact=["/results/*/result/iban", "/action/arguments/iban"],
        )  # fmt: skip
        world = SimpleNamespace(tools=[account, pay])
        script = [say(call("account", "a")), say(call("pay", "b", iban="DE89 3704", amount=5)), "done"]
        agent, _ = agent_of(script, middleware, world)
        (question,) = agent.invoke(asked(), config(gates))["__interrupt__"]
        assert "DE89" not in json.dumps(question.value)
        (result,) = question.value["results"]
        assert (result["tool"], result["call_id"], result["arguments"]) == ("account", "a", {"name": "ana"})
        assert len(result["result"]) <= 2000
        if gates == "call":
            assert question.value["action"]["arguments"] == {"iban": "<redacted>", "amount": 5}
        agent.invoke(Command(resume={"event_label": "nonsense"}), config(gates))
        result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config(gates))
        assert result["accord"]["status"] == "complete"
    shown = [json.loads(line)["entry"]["detail"]["shown"] for line in lines_of(tmp_path) if b"person asked" in line]
    assert len(shown) == 4
    assert "DE89" not in json.dumps(shown)


@pytest.mark.parametrize("redact", ["/results", ["results"], [3]])
def test_rules_for_what_must_not_be_seen_are_pointers(redact):
    with pytest.raises(UsageError):
        AccordMiddleware("!a.end", redact=redact)


def test_no_more_is_shown_than_can_be_read():
    world = World()
    searches = [say(call("search", f"s{number}", amount=number)) for number in range(30)]
    agent, _ = agent_of(
        [*searches, say(call("pay", "p", amount=9)), "done"],
        AccordMiddleware('rule "ask" { before each pay require Approval by human }'),
        world,
    )
    (question,) = agent.invoke(asked(), {**config(), "recursion_limit": 200})["__interrupt__"]
    assert [each["arguments"]["amount"] for each in question.value["results"]] == list(range(10, 30))
    assert question.value["earlier"] == 10


@pytest.mark.parametrize("way", ["sync", "async"])
def test_nothing_is_looked_up_while_nobody_is_asked(way, monkeypatch):
    """What a question shows costs as much as the conversation is long, so only questions pay for it."""

    def never(*_):
        raise AssertionError("nobody is asked")

    monkeypatch.setattr("accord.langchain.questions.gather", never)
    script = [say(call("search", "a")), say(call("pay", "b", amount=1)), "done"]
    agent, _ = agent_of(script, AccordMiddleware("""
        rule "ask" { before each pay(amount > 5) require Approval by human }
    """), World())  # fmt: skip
    run = agent.invoke if way == "sync" else lambda *given: asyncio.run(agent.ainvoke(*given))
    assert run(asked(), config())["accord"]["ended_early"] is False


def test_what_was_shown_once_is_not_shown_again_after_an_answer_however_much_has_run():
    """Also if so much has run since that the call is not known any more."""
    world = World()
    searches = [say(call("search", f"s{number}", amount=number)) for number in range(70)]
    script = [searches[0], say(call("pay", "p", amount=9)), *searches[1:], say(call("pay", "q", amount=9)), "done"]
    agent, _ = agent_of(script, AccordMiddleware('rule "ask" { before each pay require Approval by human }'), world)
    limits = {**config(), "recursion_limit": 400}
    (question,) = agent.invoke(asked(), limits)["__interrupt__"]
    assert [each["call_id"] for each in question.value["results"]] == ["s0"]
    (question,) = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), limits)["__interrupt__"]
    assert [each["call_id"] for each in question.value["results"]] == [f"s{number}" for number in range(50, 70)]
    assert question.value["earlier"] == 44  # of the 64 calls that are known


def test_a_step_beside_an_agent_that_rests_does_not_end_its_turn():
    """A program makes the step that a person is asked for; the agent goes on with the turn in which it was asked."""
    world = World()
    middleware = AccordMiddleware("!search.?Approval by human.!book.end", gates="session", events=["Approval"])
    agent, _ = agent_of([say(call("search", "a")), say(call("book", "b")), "done"], middleware, world)
    assert agent.invoke(asked(), config())["__interrupt__"]
    assert middleware.session(agent, config()).receive("Approval", by="ana") == Ok()
    assert agent.invoke(None, config())["accord"]["status"] == "complete"


def lines_of(path):
    return (path / "ledger").read_bytes().splitlines()
