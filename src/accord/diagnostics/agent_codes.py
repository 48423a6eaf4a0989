"""The codes of agents: Python classes that do not follow the protocols they say they follow.

They are a part of the one table in `codes`. Their examples are files that `accord lint` is given by a test.

INVARIANT: a code is written here and nowhere else in the code. Who finds a mistake calls it by its name, in the text
of an agent as well as while it runs, so that one mistake has one code.
"""

from __future__ import annotations

from accord.diagnostics.code import Code

__all__ = [
    "AFTER_THE_END",
    "AGENT_CODES",
    "COUNTED_TWICE",
    "IGNORES_NOTHING",
    "LONG_PROTOCOL",
    "MISFIT",
    "MISNAMED",
    "NEVER_CALLED",
    "NEVER_RECEIVED",
    "NOT_ANALYSED",
    "NOT_SENT",
    "NO_SHARED_PROTOCOL",
    "OUT_OF_ORDER",
    "REPLY_OUTSIDE",
    "SECOND_REPLY",
    "STARVING",
    "UNCLEAR",
    "UNFOLLOWED",
    "UNKNOWN_PROTOCOL",
    "UNKNOWN_ROLE",
    "UNREADABLE",
    "UNTAKEN",
    "WRONG_ROLE",
    "WRONG_TYPE",
]

UNKNOWN_PROTOCOL = "E070"
UNKNOWN_ROLE = "E071"
UNCLEAR = "E072"
REPLY_OUTSIDE = "E073"
WRONG_TYPE = "E074"
SECOND_REPLY = "E075"
NOT_SENT = "E076"
OUT_OF_ORDER = "E077"
NO_SHARED_PROTOCOL = "E078"
WRONG_ROLE = "E079"
AFTER_THE_END = "E080"
NEVER_RECEIVED = "E081"
UNTAKEN = "E082"
NEVER_CALLED = "E083"
MISFIT = "E084"
STARVING = "E085"
UNREADABLE = "E086"
UNFOLLOWED = "W087"
NOT_ANALYSED = "W088"
IGNORES_NOTHING = "W089"
LONG_PROTOCOL = "W090"
MISNAMED = "W091"
COUNTED_TWICE = "W092"

_FILE = """from dataclasses import dataclass
from accord.agents import Agent, follows

ASKING = "record Ask { text: String } protocol Asking { Client -> Server: Ask; Server -> Client: Answer }"

@dataclass
class Ask:
    text: str

@dataclass
class Answer: ...

"""

_SERVER = """@follows(ASKING, as_="Server")
class Server(Agent):
    async def on_ask(self, ask: Ask):
"""

_CLIENT = """@follows(ASKING, as_="Client")
class Client(Agent):
    async def on_start(self):
"""

_STRANGER = """OTHER = "protocol Other { X -> Y: Hello }"

@dataclass
class Hello: ...

@follows(OTHER, as_="Y")
class Stranger(Agent):
    async def on_hello(self, hello: Hello): ...

"""

_REPLYING = _FILE + _SERVER + "        await self.reply(Answer())\n"
_ASKING = (
    _FILE + _CLIENT + '        await self.send("Server", Ask("why?"))\n        answer = await self.receive(Answer)\n'
)

_COUNTING = '''from dataclasses import dataclass
from accord.agents import Agent, follows

COUNTING = """protocol Counting {
    rec More { choice at A { A -> B: One; continue More } or { A -> B: Done; A -> C: Sum } }
}"""

@dataclass
class One: ...

@dataclass
class Done: ...

@dataclass
class Sum: ...

@follows(COUNTING, as_="A")
class Counter(Agent):
    async def on_start(self):
'''

_COUNTED = (
    _FILE.replace("Agent, follows", "Agent, follows, persistent").replace("{", "{{").replace("}", "}}")
    + _SERVER.replace("    async def", "    asked: int = persistent(0)\n\n    async def")
    + "{}"
)

AGENT_CODES = (
    Code(
        UNKNOWN_PROTOCOL,
        "protocol is not known",
        "`@follows` names a protocol between roles: the text of a contract, the `Path` of its file, or what "
        "`accord.load` or `accord.compile` made of it: `load` takes a path, `compile` a text. A contract with several "
        "is followed by `contract[name]`.",
        _REPLYING.replace("@follows(ASKING, as_", '@follows("Asking", as_').replace("ASKING =", "UNUSED ="),
        _REPLYING,
    ),
    Code(
        UNKNOWN_ROLE,
        "role is not known",
        "`as_` names the role that the agent plays, as the protocol writes it.",
        _REPLYING.replace('as_="Server"', 'as_="Srever"'),
        _REPLYING,
    ),
    Code(
        UNCLEAR,
        "it is not clear what is meant",
        "A handler is an `async def` that takes one message, annotated with its class, and no message has two. Where a "
        "message could belong to several protocols `protocol=` says to which.",
        _REPLYING.replace("ask: Ask", "ask"),
        _REPLYING,
    ),
    Code(
        REPLY_OUTSIDE,
        "reply outside a handler",
        "`reply` answers the message that a handler was called with. In `on_start` there is none: use `send` with the "
        "role that the message is for.",
        _REPLYING + "\n    async def on_start(self):\n        await self.reply(Answer())\n",
        _REPLYING,
    ),
    Code(
        WRONG_TYPE,
        "wrong message type",
        "The role never sends such a message. The finding says what is expected at this place.",
        _REPLYING.replace("self.reply(Answer())", 'self.reply(Ask("what?"))'),
        _REPLYING,
    ),
    Code(
        SECOND_REPLY,
        "second reply",
        "A message is replied to as often as the protocol says. On some path through the handler it is once more.",
        _REPLYING + "        await self.reply(Answer())\n",
        _REPLYING,
    ),
    Code(
        NOT_SENT,
        "required message is not sent on some path",
        "A handler, or `on_start`, ends while the protocol waits for this role. The notes show the path: which "
        "conditions held, and where it left.",
        _FILE + _SERVER + "        if ask.text:\n            await self.reply(Answer())\n",
        _REPLYING,
    ),
    Code(
        OUT_OF_ORDER,
        "message is out of order",
        "The role sends such a message, but something else comes first.",
        _COUNTING + '        await self.send("C", Sum())\n        await self.send("B", Done())\n',
        _COUNTING + '        await self.send("B", Done())\n        await self.send("C", Sum())\n',
    ),
    Code(
        NO_SHARED_PROTOCOL,
        "agents share no protocol",
        "A message goes to an agent that plays a role of the same protocol.",
        _FILE + _STRANGER + _CLIENT + '        await self.send(Stranger, Ask("why?"))\n',
        _ASKING,
    ),
    Code(
        WRONG_ROLE,
        "message goes to the wrong role",
        "The protocol says who receives a message.",
        _COUNTING + '        await self.send("B", Done())\n        await self.send("B", Sum())\n',
        _COUNTING + '        await self.send("B", Done())\n        await self.send("C", Sum())\n',
    ),
    Code(
        AFTER_THE_END,
        "message after the end",
        "The conversation is over when the last message of the protocol was exchanged. What begins the protocol opens "
        "a new one; nothing else can be sent.",
        _REPLYING + '        await self.send("Client", Answer())\n',
        _REPLYING,
    ),
    Code(
        NEVER_RECEIVED,
        "message never comes",
        "`receive` waits for a message that nobody sends at this point: in no protocol of the agent, before it has "
        "done what comes first, or after the end.",
        _FILE
        + _CLIENT
        + '        answer = await self.receive(Answer)\n        await self.send("Server", Ask("why?"))\n',
        _ASKING,
    ),
    Code(
        UNTAKEN,
        "nothing takes a message that can arrive",
        "When no handler works on a conversation, what arrives needs a handler; when one waits in `receive`, it takes "
        "everything that can come then: `receive(A | B)`.",
        _FILE + _CLIENT + '        await self.send("Server", Ask("why?"))\n',
        _ASKING,
    ),
    Code(
        NEVER_CALLED,
        "handler is never called",
        "No protocol sends such a message to this agent, or something else always takes it first.",
        _REPLYING + "\n    async def on_answer(self, answer: Answer): ...\n",
        _REPLYING,
    ),
    Code(
        MISFIT,
        "message does not fit its record",
        "A message class has the fields of the record of its name, with types that mean the same, and every message "
        "is made with all of them.",
        _ASKING.replace("text: str", "text: int")
        .replace('Ask("why?")', "Ask(number)")
        .replace("        await", "        number = len(str(7))\n        await"),
        _ASKING,
    ),
    Code(
        STARVING,
        "loop starves a partner",
        "A loop that never ends leaves a partner waiting for ever: whoever still has something to do with the role, "
        "and hears nothing of it in the loop.",
        _COUNTING + '        while True:\n            await self.send("B", One())\n',
        _COUNTING
        + '        for _ in range(9):\n            await self.send("B", One())\n'
        + '        await self.send("B", Done())\n        await self.send("C", Sum())\n',
    ),
    Code(
        UNREADABLE,
        "file is no Python",
        "Nothing in the file was checked.",
        "class Server(Agent)\n    pass\n",
        _REPLYING,
    ),
    Code(
        UNFOLLOWED,
        "nobody follows a protocol",
        "The files declare a protocol, and no agent in them plays any of its roles.",
        _REPLYING.replace("ASKING =", 'OTHER = accord.compile("protocol Other { X -> Y: Hello }")\nASKING =').replace(
            "from dataclasses", "import accord\nfrom dataclasses"
        ),
        _REPLYING,
    ),
    Code(
        NOT_ANALYSED,
        "not analysed",
        "Something cannot be followed from the text alone: code that is made or chosen while the program runs, an "
        "agent or one of its methods given away, a class that is not in the files. It is not known to be wrong, and "
        "not known to be right.",
        _FILE + _SERVER + "        answer = getattr(self, ask.text)\n        await self.reply(Answer())\n",
        _REPLYING,
    ),
    Code(
        IGNORES_NOTHING,
        "comment ignores nothing",
        "`# accord: ignore[E076] reason` stands on the line of a finding, names its code and says why. One that "
        "ignores nothing, or gives no reason, is reported.",
        _REPLYING.replace("(Answer())", "(Answer())  # accord: ignore[E076] it did not, once"),
        _REPLYING,
    ),
    Code(
        LONG_PROTOCOL,
        "protocol is long",
        "On one way through the protocol more than ten steps follow each other. A reader of it, or of one of its "
        "agents, has to keep all of them in mind, and if a role crashes all of them are lost. Several short protocols, "
        "of which each settles one thing, are easier to follow. `do Name(…)` counts as one step. In a contract, "
        "`// accord: ignore[W090] reason` above it accepts it.",
        _FILE
        + _SERVER.replace("ASKING", "QUESTIONS")
        + "        for _ in range(5):\n            await self.reply(Answer())\n            await self.receive(Ask)\n"
        + "        await self.reply(Answer())\n\n"
        + 'QUESTIONS = """record Ask { text: String } protocol Questions {\n'
        + "    Client -> Server: Ask; Server -> Client: Answer\n" * 6
        + '}"""\n',
        _REPLYING,
    ),
    Code(
        MISNAMED,
        "agent has the name of another role",
        "An agent is called like a role of the protocol, and plays another one. Readers take it for what its name "
        'says, and `send(Name, …)` goes to somebody else than `send("Name", …)`. Roles are called like the agents that '
        "play them.",
        _REPLYING.replace("class Server", "class Client"),
        _REPLYING,
    ),
    Code(
        COUNTED_TWICE,
        "handler counts twice what is delivered twice",
        "A message that opens a conversation is delivered again if the agent crashes before it has answered. A "
        "persistent field that is changed by what it was is then changed twice. Handlers are safe to be called again: "
        "they change such fields after the answer, or look first whether they know the message.",
        _COUNTED.format("        self.asked += 1\n        await self.reply(Answer())\n"),
        _COUNTED.format("        await self.reply(Answer())\n        self.asked += 1\n"),
    ),
)
