"""A LangChain agent that books flights, with a person in the middle and an audit trail at the end.

    python examples/langchain_booking/booking_agent.py

Nothing here needs a network: the model is a script that makes the mistakes real ones make. It books before it has
searched, then wants a flight that is too dear, then one that a person has to approve. The person first answers
something that is no decision, then takes the cheaper seat. Both are told what to do by accord alone.

Exit status: 0 if everything happened as it should, 1 if not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import FileSink, Ledger
from accord.langchain import AccordMiddleware

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

CONTRACT = Path(__file__).with_name("booking.accord")
BOOKED: list[tuple[str, int]] = []


@tool
def search_flights(city: str) -> str:
    """Search for flights to a city."""
    return f"to {city}: AZ1 at 900, LH2 at 420, LH2 standby at 310"


@tool
def book_flight(flight: str, price: int) -> dict[str, Any]:
    """Book a flight at a price. This must not happen by mistake."""
    BOOKED.append((flight, price))
    return {"flight": flight, "price": price, "error": None}


class ScriptedModel(BaseChatModel):
    """A model that says its lines one after the other, and stops when it hears that something was booked."""

    lines: list[tuple[str, dict[str, Any]]]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - as LangChain calls it
        run_manager: Any = None,  # noqa: ANN401, ARG002 - the same
        **kwargs: Any,  # noqa: ANN401, ARG002 - the same
    ) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        heard = messages[-1].text
        if said < len(self.lines):
            name, arguments = self.lines[said]
            message = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{said + 1}"}])
        else:
            message = AIMessage(f"Done: {heard}")
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401, ARG002 - the same
        """A script needs no tools."""
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


LINES: list[tuple[str, dict[str, Any]]] = [
    ("book_flight", {"flight": "LH2", "price": 420}),  # it has not even searched
    ("search_flights", {"city": "Rome"}),
    ("book_flight", {"flight": "AZ1", "price": 900}),  # too dear, whoever approves it
    ("book_flight", {"flight": "LH2", "price": 420}),
]
ANSWERS: list[Any] = [
    "ok",  # no decision, so it is asked again
    {
        "event_label": "modify", "by": "ana", "reason": "standby will do",
        "payload": {"flight": "LH2 standby", "price": 310},
    },
]  # fmt: skip


def show(messages: list[BaseMessage], start: int) -> int:
    """Print what is new of a conversation; how long it is now."""
    for message in messages[start:]:
        if isinstance(message, AIMessage) and message.tool_calls:
            for call in message.tool_calls:
                print(f"model     calls {call['name']} {json.dumps(call['args'])}")
        elif isinstance(message, ToolMessage):
            print(f"{'contract' if message.text.startswith('error') else 'tool':9} {message.text}")
        else:
            print(f"{message.type:9} {message.text}")
    return len(messages)


def show_trail(ledger: Ledger, path: Path) -> None:
    """Print the audit trail: what was tried, what was answered, who was shown what, who decided."""
    print("\nThe audit trail:")
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)["entry"]
        if entry["act"] == "attempt":
            payload = json.dumps(entry.get("payload", {}))
            print(f"  {entry['seq']:2} {entry['event']:20} {entry['verdict']:15} {payload}")
        elif entry["act"] == "note":
            detail = entry["detail"]
            who = detail.get("to") or detail.get("by") or ""
            shown = detail.get("shown", detail)
            about = shown.get("modified") or shown.get("payload") or shown.get("action")
            said = shown.get("error") or shown.get("reason") or ""
            print(f"  {entry['seq']:2} {entry['what']:20} {who:15} {json.dumps(about)} {said}".rstrip())
    print(f"  {'whole and unchanged' if ledger.verify().ok else 'BAD'}, head {ledger.head[:16]}…")


def main() -> int:
    """Let the agent work, answer its questions, and check what it really did."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.ledger"
        with Ledger(FileSink(path)) as ledger:
            guard = AccordMiddleware(CONTRACT, ledger=ledger, reviewer="the travel desk", secret=b"keep this elsewhere")
            agent = create_agent(
                ScriptedModel(lines=LINES),
                [search_flights, book_flight],
                middleware=[guard],
                checkpointer=InMemorySaver(),
            )
            config: RunnableConfig = {"configurable": {"thread_id": "trip-17"}}
            result: dict[str, Any] = agent.invoke({"messages": [HumanMessage("Book me a flight to Rome.")]}, config)
            seen = show(result["messages"], 0)
            for answer in ANSWERS:
                question = result["__interrupt__"][0].value
                complaint = question.get("error")
                print(f"asked     {complaint or question['question']} {question['action']['arguments']}")
                print(f"person    {answer}")
                named = {**answer, "review": question["review"]} if isinstance(answer, dict) else answer
                result = agent.invoke(Command(resume=named), config)
                seen = show(result["messages"], seen)
            show_trail(ledger, path)
            whole = ledger.verify().ok
    expected = BOOKED == [("LH2 standby", 310)] and result["accord"]["status"] == "complete" and whole
    print("\nbooked once, exactly what was approved" if expected else "\nTHIS SHOULD NOT HAVE HAPPENED")
    return 0 if expected else 1


if __name__ == "__main__":
    sys.exit(main())
