"""Every snippet is run, as somebody would who has just saved it."""

from __future__ import annotations

import importlib
import json

import anyio
import pytest

from accord import Guard, Ok, ToolCall, Violation
from accord.studio.snippets import KINDS
from accord.templates import template, template_names
from tests.agents.scripted import Scripted, call, say
from tests.studio.asking import Asker

TEXT = template("booking").text


@pytest.fixture(scope="module")
def asker():
    return Asker()


def load(asker, kind, text=TEXT):
    """The names that a snippet defines."""
    code = asker.ask("snippet", text=text, kind=kind)["text"]
    names = {"__name__": f"snippet_{kind}"}
    exec(compile(code, f"<{kind}>", "exec"), names)  # noqa: S102 - the snippet is what is tested
    return names


def test_monitor(asker):
    names = load(asker, "monitor")
    assert names["may"]("search") is None
    assert names["came"]("results") is None
    assert "first call `present`" in names["may"]("book")


def test_guard(asker):
    run = load(asker, "guard")["run"]
    search, book = run([ToolCall("search", {}, "1"), ToolCall("book", {}, "2")])
    assert search.ok and not book.ok
    assert "`book` is not allowed yet" in book.content


def test_store(asker, tmp_path):
    names = load(asker, "store")
    store = tmp_path / "sessions.db"
    assert names["attempt"](store, "s", "search") == Ok()
    again = names["attempt"](store, "s", "search")
    assert isinstance(again, Violation) and not names["is_allowed"](again)


def test_ledger(asker, tmp_path):
    session = load(asker, "ledger")["recorded"](tmp_path / "sessions.ledger", "s")
    assert session.send("search") == Ok()
    assert "search" in (tmp_path / "sessions.ledger").read_text()


def test_openai(asker):
    from openai.types.chat import ChatCompletion

    turns = [[("book", "1")], [("search", "2")], None]
    sent = []

    def create(messages):
        sent.append(list(messages))
        calls = turns[len(sent) - 1]
        message = {"role": "assistant", "content": None if calls else "done"}
        if calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": "{}"}} for n, i in calls
            ]
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return ChatCompletion.model_validate(
            {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        )

    assert load(asker, "openai")["converse"](create, [{"role": "user", "content": "hi"}]) == "done"
    told = [message["content"] for message in sent[-1] if message["role"] == "tool"]
    assert "`book` is not allowed yet" in told[0]
    assert told[1] == "{}"


def test_anthropic(asker):
    from anthropic.types import Message

    turns = [[("book", "1")], [("search", "2")], None]
    sent = []

    def create(messages):
        sent.append(json.loads(json.dumps(messages, default=str)))
        calls = turns[len(sent) - 1]
        content = [{"type": "tool_use", "id": i, "name": n, "input": {}} for n, i in calls or []]
        return Message.model_validate(
            {
                "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None,
                "stop_reason": "tool_use" if calls else "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
                "content": content or [{"type": "text", "text": "done"}],
            }
        )  # fmt: skip

    assert load(asker, "anthropic")["converse"](create, [{"role": "user", "content": "hi"}]) == "done"
    told = [part["content"] for message in sent[-1] if message["role"] == "user" for part in message["content"] if isinstance(part, dict)]  # fmt: skip # noqa: E501
    assert "`book` is not allowed yet" in told[0]


def test_langchain(asker):
    model = Scripted(script=[say(call("book", "c1")), say(call("search", "c2")), "done"])
    agent = load(asker, "langchain")["make_agent"](model)
    result = agent.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "t"}})
    told = [message.content for message in result["messages"] if message.type == "tool"]
    assert "`book` is not allowed yet" in told[0]
    assert result["messages"][-1].content == "done"


def test_langfuse(asker):
    from langfuse import Langfuse

    client = Langfuse(tracing_enabled=False, public_key="pk-snippet", secret_key="sk")  # noqa: S106 - no secret
    session = load(asker, "langfuse")["observed"](client)
    assert session.send("search") == Ok()
    assert isinstance(session.send("book"), Violation)


def test_opentelemetry(asker):
    guard = load(asker, "opentelemetry")["watched"]()
    assert isinstance(guard, Guard)
    assert guard.run([ToolCall("search", {}, "1")])[0].ok


@pytest.mark.parametrize("name", template_names())
def test_every_template_has_every_snippet(asker, name):
    text = template(name).text
    if asker.ask("contract", text=text)["protocols"][0]["kind"] == "roles":
        answer = asker.post("snippet", text=text, kind="guard")
        assert answer.status == 400 and "there are session, role, agents" in answer.json["error"]
        return
    for kind in KINDS:
        assert load(asker, kind, text)["CONTRACT"].strip() == text.strip()


TRAVEL = template("travel-desk").text
GOOD = [
    ("Traveller", "Desk", "Request", {"city": "Rome", "day": "Monday"}),
    ("Desk", "Airline", "Query", None),
    ("Airline", "Desk", "Busy", None),
]


def test_session_of_all_roles(asker):
    names = load(asker, "session", TRAVEL)
    assert [names["said"](*message) for message in GOOD] == [None] * 3
    assert "`Desk` may not send `Book` to `Airline` now" in names["said"]("Desk", "Airline", "Book")


def test_monitor_of_one_role(asker):
    code = asker.ask("snippet", text=TRAVEL, kind="role", role="Desk")["text"]
    names = {}
    exec(compile(code, "<role>", "exec"), names)  # noqa: S102 - the snippet is what is tested
    assert names["came"]("Request", "Traveller", {"city": "Rome", "day": "Monday"}) is None
    assert "is not allowed" in names["may"]("Book", "Airline")
    assert names["may"]("Query", "Airline") is None
    assert asker.post("snippet", text=TRAVEL, kind="role", role="Nobody").status == 400


TYPED = """
enum Speed { fast, slow }
record Part { name: String }
record Order { parts: List<Part>, speed: Speed, note: Option<String>, prices: Map<String, Float>, more: Any }
protocol Shop { Buyer -> Seller: Order; Seller -> Buyer: Done }
protocol Other { A -> B: Hi }
"""


@pytest.mark.parametrize("text", [TRAVEL, template("two-phase-commit").text, TYPED])
def test_agents_for_each_role(asker, tmp_path, monkeypatch, text):
    """The classes are checked against the protocol when they are made; then they run."""
    protocol = asker.ask("contract", text=text)["protocols"][0]
    code = asker.ask("snippet", text=text, kind="agents", protocol=protocol["name"])["text"]
    (tmp_path / "snippet_agents.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.reload(importlib.import_module("snippet_agents"))
    assert all(hasattr(made, f"{role}Agent") for role in protocol["roles"])
    anyio.run(made.main)


def test_agents_run_what_is_filled_in(asker, tmp_path, monkeypatch, capsys):
    text = "record Ask { question: String }\nprotocol Talk { Client -> Helper: Ask; Helper -> Client: Answer }"
    code = asker.ask("snippet", text=text, kind="agents")["text"]
    code = code.replace('"""From Client. ', 'print(message.question)\n        await self.reply(Answer())\n        """')
    start = '    async def on_start(self) -> None:\n        await self.send("Helper", Ask("why"))\n\n'
    code = code.replace("    async def on_answer(", f"{start}    async def on_answer(")
    code = code.replace('"""From Helper. ', 'print("answered")\n        """')
    (tmp_path / "snippet_filled.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    anyio.run(importlib.import_module("snippet_filled").main)
    assert capsys.readouterr().out == "why\nanswered\n"


def test_agents_need_names_that_classes_can_have(asker):
    answer = asker.post("snippet", text='protocol P { A -> B: "not a name" }', kind="agents")
    assert answer.status == 400
    assert "rename it first" in answer.json["error"]


ODD = '!"2nd try".!"2nd-try".!"\u202e\\"\\"\\"".!class.end'


def test_odd_labels_and_several_protocols(asker):
    names = load(asker, "guard", ODD)
    (result,) = names["run"]([ToolCall("2nd try", {}, "1")])
    assert result.ok
    two = "protocol P = !a.end\nprotocol Q = !b.end"
    for kind in KINDS:
        code = asker.ask("snippet", text=two, kind=kind)["text"]
        assert "protocol='P'" in code or "name='P'" in code
    assert load(asker, "monitor", two)["may"]("a") is None


def test_a_kind_that_is_none(asker):
    answer = asker.post("snippet", text=TEXT, kind="cobol")
    assert answer.status == 400
    assert "there is no snippet `cobol`" in answer.json["error"]
