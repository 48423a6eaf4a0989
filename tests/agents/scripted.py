"""Agents for tests: a model that follows a script, tools that remember that they have run."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

__all__ = ["Recorder", "Scripted", "agent_of", "asked", "call", "config", "reported", "say", "told"]


def call(name, identity, /, **arguments):
    """A call of a tool, as a model makes it."""
    return {"name": name, "args": arguments, "id": identity, "type": "tool_call"}


def say(*calls, text=""):
    """What a model answers."""
    return AIMessage(content=text, tool_calls=list(calls))


class Scripted(BaseChatModel):
    """Says what stands in its script, one line after the other; what it was shown is remembered.

    A line may be a function of the messages so far. Which line comes next is told by the messages, so that one model
    serves many threads: it is the number of answers that the thread already has.
    """

    script: list[Any]
    shown: list[Any] = Field(default_factory=list)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):  # noqa: ARG002 - as LangChain calls it
        line = self.script[sum(isinstance(message, AIMessage) for message in messages)]
        if callable(line):
            line = line(messages)
        message = line if isinstance(line, AIMessage) else AIMessage(content=str(line))
        return ChatResult(generations=[ChatGeneration(message=message.model_copy(deep=True))])

    def bind_tools(self, tools, **kwargs):  # noqa: ARG002 - the same
        self.shown.append(sorted(getattr(each, "name", str(each)) for each in tools))
        return self

    @property
    def _llm_type(self):
        return "scripted"


class Recorder:
    """Tools by name, and what they did."""

    def __init__(self):
        self.ran = []
        recorder = self

        @tool
        def search(city: str = "Rome") -> str:
            """Search for flights."""
            recorder.ran.append(("search", city))
            return f"flights to {city}"

        @tool
        def book(flight: str = "AZ1", amount: int = 10) -> str:
            """Book a flight."""
            recorder.ran.append(("book", flight, amount))
            return f"booked {flight}"

        @tool
        def fail(times: int = 1) -> str:
            """Fail."""
            recorder.ran.append(("fail", times))
            raise RuntimeError("out of order")

        self.tools = [search, book, fail]

    @property
    def names(self):
        return [entry[0] for entry in self.ran]


def agent_of(script, middleware, recorder, *, checkpointer=True, **more):
    """An agent with that script, and its model."""
    model = Scripted(script=script)
    saver = InMemorySaver() if checkpointer is True else checkpointer
    agent = create_agent(model, recorder.tools, middleware=[middleware], checkpointer=saver, **more)
    return agent, model


def config(thread="t"):
    return {"configurable": {"thread_id": thread}}


def asked(text="go"):
    return {"messages": [("user", text)]}


def told(result):
    """What the model was told by tools, in order."""
    return [message.content for message in result["messages"] if isinstance(message, ToolMessage)]


def reported(result):
    """How the session stands, whatever middleware says so."""
    return result["accord"] if "accord" in result else result["fsm"]
