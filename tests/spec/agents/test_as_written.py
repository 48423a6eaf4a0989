"""Programs that users of session types for agents know, as Python, with the codes they know."""

from __future__ import annotations

import pytest

from accord.agents.check import lint, read
from accord.diagnostics import Source

FRONT = '''
from dataclasses import dataclass
import accord
from accord.agents import Agent, AgentRef, Supervisor, follows, persistent

CONTRACT = accord.compile("""
record SchemaChanged { table: String, change_type: String }
record Acknowledged {}
protocol SchemaSync {
    DatabaseSteward -> APISteward: SchemaChanged
    APISteward -> DatabaseSteward: Acknowledged
}
""")

@dataclass
class SchemaChanged:
    table: str
    change_type: str

@dataclass
class Acknowledged: ...

'''

STEWARD = """
@follows(CONTRACT, as_="APISteward")
class APISteward(Agent):
    async def on_start(self):
        pass

    async def on_message(self, change: SchemaChanged):
        print(f"Schema changed: {change.table}")
        await self.reply(Acknowledged())
"""

REQUESTS = '''
from dataclasses import dataclass
from accord.agents import Agent, AgentRef, follows

CONTRACT = """
record Request { data: String }
record Response { result: String }
protocol RequestResponse {
    Client -> Server: Request
    Server -> Client: Response
}
"""

@dataclass
class Request:
    data: str

@dataclass
class Response:
    result: str

@follows(CONTRACT, as_="Server")
class RequestWorker(Agent):
    async def on_message(self, request: Request):
        result = request.data.upper()
        await self.reply(Response(result=result))

@follows(CONTRACT, as_="Client")
class Requester(Agent):
    def __init__(self, target: AgentRef):
        self.target = target

    async def on_start(self):
        await self.send(self.target, Request(data="hello"))
        response = await self.receive(Response)
        print(f"Got: {response.result}")
'''

TWO = '''
from dataclasses import dataclass
import accord
from accord.agents import Agent, follows

CONTRACT = accord.compile("""
protocol SchemaSync { DatabaseSteward -> APISteward: SchemaChanged; APISteward -> DatabaseSteward: Acknowledged }
protocol ApiSync { APISteward -> FrontendSteward: ApiChanged; FrontendSteward -> APISteward: Regenerated }
""")

@dataclass
class SchemaChanged: ...

@dataclass
class Acknowledged: ...

@dataclass
class ApiChanged: ...

@dataclass
class Regenerated: ...

@follows(CONTRACT["SchemaSync"], as_="APISteward")
@follows(CONTRACT["ApiSync"], as_="APISteward")
class APISteward(Agent):
    async def on_change(self, change: SchemaChanged):
        await self.send("FrontendSteward", ApiChanged())
        await self.receive(Regenerated)
        await self.send("DatabaseSteward", Acknowledged())
'''

SUPERVISED = (
    FRONT
    + STEWARD.replace(
        "    async def on_start(self):\n        pass\n",
        "    handled = persistent(0)\n\n    async def on_start(self):\n        print(self.handled)\n",
    ).replace("        await self.reply", "        self.handled += 1\n        await self.reply")
    + """

@follows(CONTRACT, as_="DatabaseSteward")
class DatabaseSteward(Agent):
    async def on_start(self):
        await self.send("APISteward", SchemaChanged("users", "add_column"))
        await self.receive(Acknowledged)

async def main():
    supervisor = Supervisor(strategy="one_for_one")
    supervisor.add(APISteward)
    supervisor.add(DatabaseSteward)
    async with supervisor:
        await supervisor.settled()
"""
)


def replied(line: str) -> str:
    return FRONT + STEWARD.replace("        await self.reply(Acknowledged())\n", f"        {line}\n")


PROGRAMS = {
    "following a protocol": (FRONT + STEWARD, []),
    "request and response": (REQUESTS, []),
    "two protocols in one agent": (TWO, []),
    "two protocols, and one is not served": (
        TWO.replace('        await self.send("DatabaseSteward", Acknowledged())\n', ""),
        ["E076"],
    ),
    "supervision": (SUPERVISED, []),
    "E070 unknown protocol": (FRONT + STEWARD.replace("CONTRACT,", '"NonexistentProtocol",'), ["E070"]),
    "E071 unknown role": (FRONT + STEWARD.replace('"APISteward"', '"UnknownRole"'), ["E071"]),
    "E073 reply outside a handler": (
        FRONT + STEWARD.replace("        pass\n", "        await self.reply(Acknowledged())\n"),
        ["E073"],
    ),
    "E074 wrong type of a reply": (
        replied("await self.reply(WrongType())").replace("@follows", "@dataclass\nclass WrongType: ...\n\n@follows"),
        ["E074"],
    ),
    "E074 wrong type of a message": (REQUESTS.replace('Request(data="hello")', 'Response("hello")'), ["E074"]),
    "E076 missing reply": (replied('print("Got change")'), ["E076"]),
    "E076 reply in one arm only": (replied("if change.table: await self.reply(Acknowledged())"), ["E076"]),
    "E078 no protocol in common": (
        FRONT
        + STEWARD
        + """
@dataclass
class Hello: ...

@follows("protocol Greeting { A -> B: Hello }", as_="A")
class Greeter(Agent):
    async def on_start(self):
        await self.send(APISteward, Hello())
""",
        ["E078"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_as_written(name):
    text, codes = PROGRAMS[name]
    assert [finding.code for finding in lint(read([Source(text, "program.py")]), {}).findings] == codes


def test_the_message_is_the_one_that_users_know():
    text, _ = PROGRAMS["E076 missing reply"]
    (finding,) = lint(read([Source(text, "program.py")]), {}).findings
    assert finding.message.startswith(
        "protocol `SchemaSync` requires `APISteward` to send `Acknowledged` after receiving `SchemaChanged`"
    )
