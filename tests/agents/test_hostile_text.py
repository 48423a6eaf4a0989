"""What models and people write reaches the model of a LangChain agent quoted, clipped and in one line."""

from __future__ import annotations

import pytest
from langchain_core.tools import tool
from langgraph.types import Command

from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told
from tests.hostile_text import HOSTILE, check_told

CONTRACT = "protocol P = rec L.{?Approval by human.!book.?book.L, !search(city != null).?search.L}"
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


@hostile
def test_what_the_model_asks_for(text):
    recorder = Recorder()

    @tool
    def breaks() -> str:
        """Break."""
        raise ValueError(text)

    recorder.tools.append(breaks)
    script = [
        say(call(text, "a"), call("search", "b", **{text: 1})),
        say(call("search", text, city=text)),
        say(call("breaks", "c")),
        "done",
    ]
    contract = "rec L.!{search.L, breaks.L}"
    agent, _ = agent_of(script, AccordMiddleware(contract, patience=3), recorder)
    said = [each for each in told(agent.invoke(asked(), config())) if each.startswith("error: ")]
    assert said
    for each in said:
        check_told(each, "a refusal", own="ValueError" in each)


@hostile
@pytest.mark.parametrize("answer", ["approve", "deny", "wrong"])
def test_what_people_answer(text, answer):
    recorder = Recorder()
    agent, _ = agent_of([say(call("book", "a", flight=text)), "done"], AccordMiddleware(CONTRACT), recorder)
    (question,) = agent.invoke(asked(), config())["__interrupt__"]
    check_told(question.value["question"], "a question")
    given = (
        {"event_label": text} if answer == "wrong" else {"event_label": answer, "by": text[:190], "reason": text[:1900]}
    )
    after = agent.invoke(Command(resume=given), config())
    if answer == "wrong":
        check_told(after["__interrupt__"][0].value["error"], "an error")
        after = agent.invoke(Command(resume={text: text}), config())
        check_told(after["__interrupt__"][0].value["error"], "an error")
        after = agent.invoke(Command(resume={"event_label": "deny", "by": "ana"}), config())
    for each in told(after):
        if each.startswith("error: "):
            check_told(each, "a refusal")
