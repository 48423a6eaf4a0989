"""The examples the project started from, with nothing changed but the package's name.

Each promise in a comment of an example is an assertion here. The examples of the client wrapper, the tool middleware,
LangChain and Langfuse have tests of their own beside those integrations.
"""

import pytest

import accord
from accord import UNRECOGNIZED, Blocked, Monitor, Ok, Session, Unrecognized, Violation

FLIGHT = "!SearchFlights.?FlightResults.!PresentOptions.?UserApproval.!BookFlight.?BookingConfirmation.end"
CARD = "!CreateCard.?{CardCreated.rec X.!Transaction.?{TransactionOK.X, SessionEnd}, CardError}.end"


# -- the web page ----------------------------------------------------------------------------------------------------


def test_the_protocol_at_the_top_of_the_page():
    m = Monitor(FLIGHT)
    assert m.send("SearchFlights") == Ok()
    assert m.receive("FlightResults") == Ok()
    assert m.send("PresentOptions") == Ok()
    assert m.receive("UserApproval") == Ok()
    assert m.send("BookFlight") == Ok()
    assert m.receive("BookingConfirmation") == Ok()
    assert m.is_terminal


def test_booking_before_the_user_approved_is_caught():
    m = Monitor(FLIGHT)
    m.send("SearchFlights")
    m.receive("FlightResults")
    m.send("PresentOptions")
    assert m.send("BookFlight") == Violation(expected=["?UserApproval"], got="!BookFlight")


def test_three_lines_to_safety():
    m = Monitor("!Search.?Results.!Book.?Confirm.end")

    assert m.send("Search") == Ok()
    assert m.receive("Results") == Ok()
    assert m.send("Book") == Ok()
    assert m.receive("Confirm") == Ok()
    assert m.is_terminal

    over = m.send("Book")
    assert isinstance(over, Violation)
    assert over.expected == []
    assert "over" in over.explain()


@pytest.mark.parametrize("rounds", [0, 1, 7])
@pytest.mark.parametrize(
    "protocol",
    [
        "rec X.!Request.?{ToolCall.!Result.X, Answer.end}",
        "rec Loop.!Request.?{ToolCall.!Result.Loop, Answer.end}",
    ],
)
def test_the_protocol_of_the_client_wrapper(protocol, rounds):
    monitor = Monitor(protocol)
    for _ in range(rounds):
        assert monitor.send("Request") == Ok()
        assert monitor.receive("ToolCall") == Ok()
        assert monitor.send("Result") == Ok()
    assert monitor.send("Request") == Ok()
    assert not monitor.is_terminal
    assert monitor.receive("Answer") == Ok()
    assert monitor.is_terminal


@pytest.mark.parametrize(
    ("syntax", "legal"),
    [
        ("!label", ["!label"]),
        ("?label", ["?label"]),
        ("!{a, b}", ["!a", "!b"]),
        ("?{a, b}", ["?a", "?b"]),
        ("!A.!B", ["!A"]),
        ("rec X.!a.X", ["!a"]),
        ("end", []),
    ],
)
def test_every_row_of_the_syntax_table(syntax, legal):
    assert Monitor(syntax).allowed() == legal


# -- the package page ------------------------------------------------------------------------------------------------


def test_card_payment_the_card_is_refused():
    m = Monitor(CARD)
    assert m.send("CreateCard") == Ok()
    assert m.receive("CardError") == Ok()
    assert m.is_terminal


def test_card_payment_with_transactions():
    m = Monitor(CARD)
    assert m.send("CreateCard") == Ok()
    assert m.receive("CardCreated") == Ok()
    for _ in range(3):
        assert m.send("Transaction") == Ok()
        assert m.receive("TransactionOK") == Ok()
        assert not m.is_terminal
    assert m.send("Transaction") == Ok()
    assert m.receive("SessionEnd") == Ok()
    assert m.is_terminal


def test_usage():
    protocol = "!SearchFlights.?FlightResults.!BookFlight.?BookingConfirmation.end"
    m = Monitor(protocol)

    assert m.send("SearchFlights") == Ok()
    assert m.receive("FlightResults") == Ok()
    assert m.send("BookFlight") == Ok()
    assert m.receive("BookingConfirmation") == Ok()
    assert m.is_terminal


def test_catching_violations():
    m = Monitor("!Ping.?Pong.end")
    first, second, third = m.send("Ping"), m.send("Pong"), m.send("Anything")
    assert first == Ok()
    assert second == Violation(expected=["?Pong"], got="!Pong")
    assert third == Blocked("monitor halted after a previous violation")
    # The comments of the example show these very texts.
    assert repr(first) == "Ok()"
    assert repr(second) == "Violation(expected=['?Pong'], got='!Pong')"
    assert repr(third) == "Blocked('monitor halted after a previous violation')"


def test_working_with_choices():
    protocol = "!CreateCard.?{CardCreated.!Done.end, CardError.end}"
    m = Monitor(protocol)
    assert m.send("CreateCard") == Ok()
    assert m.receive("CardError") == Ok()
    assert m.is_terminal


def test_recursion():
    protocol = "rec X.!Ping.?Pong.X"
    m = Monitor(protocol)
    for _ in range(100):
        assert m.send("Ping") == Ok()
        assert m.receive("Pong") == Ok()


def test_unrecognized_is_no_violation():
    m = Monitor("?{Yes.end, No.end}")
    result = m.receive(UNRECOGNIZED)
    assert isinstance(result, Unrecognized)
    assert not isinstance(result, Violation)
    assert m.receive("Yes") == Ok()
    assert m.is_terminal


def test_a_branch_that_asks_again():
    protocol = "rec Loop.!Ask.?{Yes.end, No.end, Unrecognized.Loop}"
    m = Monitor(protocol)
    assert m.send("Ask") == Ok()
    assert m.receive(UNRECOGNIZED) == Ok()
    assert m.send("Ask") == Ok()
    assert m.receive("Yes") == Ok()
    assert m.is_terminal


def test_persistence():
    protocol = "rec Loop.!Ask.?{Yes.end, No.end, Unrecognized.Loop}"
    m = Monitor(protocol)
    m.send("Ask")
    m.receive("Yes")
    assert m.trace == ["!Ask", "?Yes"]

    snapshot = m.to_dict()
    assert snapshot == {"trace": ["!Ask", "?Yes"]}
    restored = Monitor.from_dict(protocol, snapshot)
    assert restored.current_state == m.current_state
    assert restored.is_terminal


def test_the_trace_is_an_audit_log_of_every_attempt():
    m = Monitor("!Ping.?Pong.end")
    m.receive(UNRECOGNIZED)
    m.send("Ping")
    m.send("Pong")
    m.send("Anything")
    assert m.trace == ["?Unrecognized", "!Ping", "!Pong", "!Anything"]
    restored = Monitor.from_dict("!Ping.?Pong.end", m.to_dict())
    assert restored.is_halted
    assert restored.trace == m.trace


def test_the_combined_agent_loop_with_its_own_sends():
    monitor = Monitor("rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}")
    for answer in ("ToolCall", "ToolCall", "FinalAnswer"):
        assert monitor.send("Request") == Ok()
        assert monitor.receive(answer) == Ok()
        if answer == "ToolCall":
            assert monitor.send("ToolResult") == Ok()
    assert monitor.is_terminal


def test_the_protocol_of_the_langfuse_example():
    monitor = Monitor("!Request.?{ToolCall.!ToolResult.end, FinalAnswer.end}")
    assert monitor.send("Request") == Ok()
    assert monitor.receive("ToolCall") == Ok()
    assert monitor.send("ToolResult") == Ok()
    assert isinstance(monitor.send("ExtraCall"), Violation)


# -- protocols between roles -------------------------------------------------------------------------------------------

SCHEMA_SYNC = """
record SchemaChanged {
table: String,
change_type: String,
}
record Acknowledged {}
protocol SchemaSync {
DatabaseSteward -> APISteward: SchemaChanged
APISteward -> DatabaseSteward: Acknowledged
}
"""
BARE_SYNC = """
protocol SchemaSync {
DatabaseSteward -> APISteward: SchemaChanged
APISteward -> DatabaseSteward: Acknowledged
}
"""
DEBATE = """
protocol DebateRound {
Coordinator -> Debater: Topic
Debater -> Coordinator: Argument
Coordinator -> Debater: Feedback
Debater -> Coordinator: Revision
}
"""
REQUEST = """
// Message types
record Request {
data: String,
}
record Response {
result: String,
}
// Protocol declaration
protocol RequestResponse {
Client -> Server: Request
Server -> Client: Response
}
"""
NOTIFY = """
protocol SchemaSync {
DatabaseSteward -> APISteward: SchemaChanged
}
"""
WORKFLOW = """
protocol ComplexWorkflow {
A -> B: Step1
B -> A: Step2
A -> C: Step3
C -> A: Step4
A -> B: Step5
B -> C: Step6
// ...getting hard to follow
}
"""
COMMENTED = """
// SchemaChanged: Sent when the database schema has been modified.
// The receiver should regenerate any cached schema information.
record SchemaChanged {
table: String,
change_type: String, // "add_column" | "drop_column" | "add_table"
}
"""


@pytest.mark.parametrize("text", [SCHEMA_SYNC, BARE_SYNC, DEBATE, REQUEST, NOTIFY, WORKFLOW])
def test_protocols_between_roles_run_as_they_are_written(text):
    session = Session(text)
    (protocol,) = accord.parse(text).globals
    payloads = {"SchemaChanged": {"table": "t", "change_type": "add_column"}, "Request": {"data": "hello"}}
    payloads["Response"] = {"result": "ok"}
    for step in protocol.body:
        payload = payloads.get(step.label) if f"record {step.label} " in text else None
        assert session.observe(step.sender, step.receiver, step.label, payload) == Ok()
    assert session.close() == Ok()
    for role in session.roles:
        assert accord.project(accord.compile(text), role).machine().labels


def test_a_record_with_comments():
    (record,) = accord.parse(COMMENTED).types
    assert [field.name for field in record.fields] == ["table", "change_type"]
    assert '"add_column"' in str(accord.parse(COMMENTED))


def test_a_missing_reply_is_noticed():
    session = Session(SCHEMA_SYNC)
    assert session.observe("DatabaseSteward", "APISteward", "SchemaChanged", {"table": "t", "change_type": "x"}) == Ok()
    verdict = session.close()
    assert verdict.role == "APISteward"
    assert verdict.expected == ["APISteward -> DatabaseSteward: Acknowledged"]


def test_a_wrong_reply_is_noticed():
    session = Session(SCHEMA_SYNC)
    session.observe("DatabaseSteward", "APISteward", "SchemaChanged", {"table": "t", "change_type": "x"})
    assert session.observe("APISteward", "DatabaseSteward", "WrongType").role == "APISteward"
