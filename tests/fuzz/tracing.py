"""Random traces: mostly runs as agents have them, with spans in spans and several runs at once, and much that is wrong.

The tables say which events stood where and what was odd in them, what was found there, and how long and how many runs
were.
"""

from __future__ import annotations

import json
from collections import Counter

from accord.trace.events import (
    CHAT_END,
    CHAT_START,
    ERROR,
    GENERATE_END,
    GENERATE_START,
    RETRY,
    STREAM_CHUNK,
    STREAM_END,
    STREAM_START,
    TOOL_CALL_START,
    TOOL_RESULT,
)
from accord.trace.violations import CODES
from tests.census import Census
from tests.properties.met import bracket

OTHER = "another kind"
SPANS = {TOOL_CALL_START: "call", STREAM_START: "stream", GENERATE_START: "generation"}
ENDS = {TOOL_RESULT: "call", STREAM_END: "stream", GENERATE_END: "generation"}
ID_KEYS = {"call": "tool_call_id", "stream": "stream_id", "generation": "generate_id"}
KINDS = (*SPANS, *ENDS, STREAM_CHUNK, ERROR, RETRY, CHAT_START, CHAT_END)
OTHERS = ("note", "é", "a", "\ud800")
TOOLS = ("a", "a", "b", "c", "é", "e\u0301", "unheard of")
IDS = (None, None, "x", "1", 1)
RUNS = ((None, None), ("r", None), ("s", None), (7, None), ("7", None), (None, "r"), ("r", "r"))
KEYS = (
    *("tool_name", "arguments", "tool_call_id", "stream_id", "chunk_index", "generate_id"),
    *("ok", "result", "error", "by", "id", "x", "é"),
)
ODD = ("tool_name", "tool_call_id", "stream_id", "generate_id", "chunk_index")
LEAVES = (
    *(None, True, False, 0, 1, -1, 2**70, 1.5, 1e300),
    *("a", "b", "é", "e\u0301", "", "\ud800", "s3cr3t", [], {}, "x" * 600),
)


def value(chance, depth=0):
    """Any JSON."""
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(LEAVES)
    if kind < 0.7:
        return [value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {chance.choice(KEYS): value(chance, depth + 1) for _ in range(chance.randrange(4))}


class Life:
    """One run while it is made: what is open in it, and where its next event stands."""

    def __init__(self, chance, key):
        self.chance, self.key = chance, key
        self.open = {"call": [], "stream": [], "generation": []}
        self.chunks = Counter()
        self.events = 0
        self.failed = False

    def next(self):
        """An event of the run, without its number, and where it stands."""
        chance = self.chance
        kind = chance.choice((*KINDS, TOOL_CALL_START, TOOL_RESULT, STREAM_CHUNK, OTHER))
        places = list(self._places())
        payload = self._payload(kind)
        if chance.random() < 0.25:
            payload[chance.choice(KEYS)] = value(chance)
        if chance.random() < 0.1:
            payload[chance.choice(ODD)] = chance.choice(([], ["a"], {}, {"a": 1}, True, 1.0))
        event = {"kind": chance.choice(OTHERS) if kind == OTHER else kind, "payload": payload}
        event |= {name: one for name, one in zip(("run_id", "example_id"), self.key, strict=True) if one is not None}
        self.events += 1
        self.failed |= kind == ERROR
        return kind, event, places

    def _places(self):
        if not self.events:
            yield "first"
        held = sum(map(len, self.open.values()))
        yield from (f"in a {what}" for what, ids in self.open.items() if ids)
        yield from ["outside"] if not held else ["in two and more"] if held > 1 else []
        if self.failed:
            yield "after an error"

    def _payload(self, kind):
        if kind in SPANS:
            return self._begun(SPANS[kind])
        if kind in ENDS:
            return self._ended(ENDS[kind])
        if kind == STREAM_CHUNK:
            name = self._one_of("stream")
            self.chunks[name] += 1
            index = self.chunks[name] - 1 if self.chance.random() < 0.8 else value(self.chance)
            return {"stream_id": name, "chunk": "x", "chunk_index": index}
        if kind == ERROR:
            what = self.chance.choice((None, "call", *ID_KEYS))
            about = {} if what is None else self._ended(what)
            return {**about, "error": "no"}
        return {key: value(self.chance) for key in self.chance.sample(KEYS, self.chance.randrange(4))}

    def _begun(self, what):
        name = self.chance.choice(IDS)
        self.open[what].append(name)
        self.chunks[name] = 0
        payload = {ID_KEYS[what]: name}
        if what == "call":
            arguments = self.chance.choice(({"x": 1}, {"x": "1"}, {"x": []}, {"y": 1}))
            payload |= {"tool_name": self.chance.choice(TOOLS), "arguments": arguments}
        return payload

    def _ended(self, what):
        name = self._one_of(what)
        if name in self.open[what]:
            self.open[what].remove(name)
        payload = {ID_KEYS[what]: name}
        if what == "call":
            ok = self.chance.random() < 0.7
            payload |= {"tool_name": self.chance.choice(TOOLS), "ok": ok, "result" if ok else "error": {"x": 1}}
        return payload

    def _one_of(self, what):
        held = self.open[what]
        return self.chance.choice(held) if held and self.chance.random() < 0.8 else self.chance.choice(IDS)


def random_trace(chance, seen):
    """The events of some runs, one run after the other or mixed."""
    keys = chance.sample(RUNS, chance.choice((1, 1, 1, 2, 3, 6)))
    lives = [Life(chance, key) for key in keys]
    lengths = [chance.choice((0, 1, 1, 2, 2, 3, 5, 12, 40)) for _ in lives]
    turns = [life for life, length in zip(lives, lengths, strict=True) for _ in range(length)]
    if chance.random() < 0.6:
        chance.shuffle(turns)
    left = Counter(map(id, turns))
    events, before = [], None
    for place, life in enumerate(turns):
        left[id(life)] -= 1
        kind, event, places = life.next()
        places += ["behind another run"] if before is not None and before is not life and life.events > 1 else []
        places += ["last"] if not left[id(life)] else []
        seen.events.add((kind, one) for one in places)
        seen.lives.add([("open at once", bracket(sum(map(len, life.open.values())), LENGTHS))])
        odd = [key for key in ODD if isinstance(event["payload"].get(key), list | dict)]
        seen.odd.add((key, kind) for key in odd if kind in seen.odd.places)
        events.append({"seq": place, **event})
        before = life
    seen.lives.add(("events of a run", bracket(length, LENGTHS)) for length in lengths)
    seen.lives.add([("runs of a trace", bracket(len({id(life) for life in turns}), LENGTHS))])
    return events


# -- what is wrong with lines ------------------------------------------------------------------------------------------


def _set(name, choices):
    def change(chance, event):
        return json.dumps({**event, name: chance.choice(choices)}).encode()

    return change


def _without(name):
    return lambda _, event: json.dumps({key: item for key, item in event.items() if key != name}).encode()


def _torn(chance, event):
    line = json.dumps(event).encode()
    return line[: chance.randrange(1, len(line))]


def _byte(chance, event):
    line = bytearray(json.dumps(event).encode())
    line[chance.randrange(len(line))] = chance.choice(b'"\\{}[],:0a \xff\x00')
    return bytes(line)


def _twice(chance, event):
    return json.dumps(event).encode()[:-1] + b', "seq": %d}' % chance.randrange(9)


WRONG = {
    "a byte": _byte,
    "it is torn": _torn,
    "it is blank": lambda _, __: b" ",
    "it is no object": lambda chance, _: chance.choice((b"null", b"[]", b"7", b'"x"')),
    "no seq": _without("seq"),
    "seq is no number": _set("seq", (None, "1", 1.5, True, {})),
    "seq comes again": _set("seq", (0, -1, 2**70)),
    "no kind": _without("kind"),
    "kind is no text": _set("kind", (None, 7, [])),
    "kind is empty": _set("kind", ("",)),
    "no payload": _without("payload"),
    "payload is no object": _set("payload", (7, "x", [1], True)),
    "the id is none": _set("run_id", (1.5, True, [], {})),
    "a key is there twice": _twice,
    "too deep": lambda _, event: json.dumps({**event, "payload": {}}).encode()[:-2] + b'"d":' + b"[" * 9_000 + b"}",
    "a number that is none": lambda _, event: json.dumps({**event, "payload": {"x": float("nan")}}).encode(),
}
"""What can be wrong with a line, and such a line."""
HARMLESS = ("it is blank", "seq comes again", "kind is empty", "no payload", "payload is no object")
HARMLESS += ("a key is there twice",)
ANSWERS = ("judged", "refused")
WHERE = ("first line", "line between", "last line")


def files_census():
    """What is wrong with which line, and whether the file was judged or refused."""
    never = {}
    for wrong in WRONG:
        if wrong != "a byte":
            answer, why = ("refused", "it is an event, or none") if wrong in HARMLESS else ("judged", "it is no event")
            never |= {(wrong, f"{where}, {answer}"): why for where in WHERE}
    return Census("wrong with a line", tuple(WRONG), tuple(f"{at}, {a}" for at in WHERE for a in ANSWERS), never)


def as_lines(events):
    """A file of events."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def spoiled(chance, events):
    """A file of three or more events with one line spoiled; what is wrong with it, where it is, and its number."""
    lines = [json.dumps(event).encode() for event in events]
    wrong, where = chance.choice(list(WRONG)), chance.choice(WHERE)
    number = {WHERE[0]: 0, WHERE[1]: chance.randrange(1, len(events) - 1), WHERE[2]: len(events) - 1}[where]
    lines[number] = WRONG[wrong](chance, events[number])
    return b"".join(line + b"\n" for line in lines), wrong, where, number + 1


# -- tables ------------------------------------------------------------------------------------------------------------

LENGTHS = ("nothing", "1", "2 to 3", "4 to 9", "10 and more")
PLACES = (
    *("first", "outside", "in a call", "in a stream", "in a generation", "in two and more"),
    *("after an error", "behind another run", "last"),
)
FOUND = ("first event", "between", "last event", "lone run", "among runs")
NEEDS_ANOTHER = ("STREAM_NESTED", "STREAM_CHUNK_AFTER_END", "STREAM_CHUNK_INDEX_MISMATCH", "GENERATE_NESTED")
RULES = (
    *("must_precede", "must_follow", "only_after_success", "eventually", "forbidden_sequences"),
    *("forbidden_subsequences", "at_most", "allowed_tools", "allow_unknown_tools"),
)


class Seen:
    """What a campaign looked at."""

    def __init__(self):
        self.events = Census("events", (*KINDS, OTHER), PLACES)
        never = {(code, "first event"): "it needs an event before it" for code in NEEDS_ANOTHER}
        judged = tuple(code for code in CODES if code != "VALIDATOR_FAILED")  # nobody's own code runs here
        self.codes = Census("violations", judged, FOUND, never)
        self.rules = Census("rules of order", RULES, ("broken", "kept"))
        self.lives = Census(
            "how many", ("events of a run", "runs of a trace", "open at once"), LENGTHS,
            {("runs of a trace", "10 and more"): "six are enough to be mixed"},
        )  # fmt: skip
        kinds = tuple(kind for kind in KINDS if kind not in {RETRY, CHAT_START, CHAT_END})
        self.odd = Census("lists and objects for", ODD, kinds)

    def tables(self):
        """All tables."""
        return self.events, self.odd, self.codes, self.rules, self.lives

    def found(self, events, violations, rules):
        """A trace was judged by these kinds of rules."""
        runs = {}
        for event in events:
            runs.setdefault((event.get("run_id"), event.get("example_id")), []).append(event)
        for one in violations:
            run = runs.get((one.run_id, one.example_id), [{"seq": one.event_seq}])
            first, last = run[0]["seq"], run[-1]["seq"]
            self.codes.add([(one.code, "lone run" if len(runs) < 2 else "among runs")])
            here = [FOUND[0]] * (one.event_seq == first) + [FOUND[2]] * (one.event_seq == last)
            self.codes.add((one.code, place) for place in here or [FOUND[1]])
        broken = {(one.run_id, one.example_id, one.context.get("rule_name")) for one in violations}
        for key, run in runs.items():
            if any(event["kind"] == TOOL_CALL_START for event in run):
                self.rules.add((rule, "broken" if (*key, rule) in broken else "kept") for rule in rules)
