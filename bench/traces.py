"""What traces cost: validating them with every validator on, and fingerprinting them.

A synthetic trace is one run of an agent that asks a model, calls tools and streams its answers. The yardstick is
msgspec decoding the same lines one by one into plain values, which is what any reader of a trace has to do first. Time
is processor time of this process, so that other programs count less; the best of several rounds is the figure.
"""

from __future__ import annotations

import io
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import msgspec

from accord.trace import TraceRecorder, compile_trace_config, load_trace_config, validate_file
from accord.trace.fingerprint import Fingerprinter
from accord.trace.reading import read_pieces
from accord.trace.sinks import event_line
from bench.children import ChildError, in_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.trace.validation import TracePlan

__all__ = ["SIZES", "TraceCosts", "measure_traces", "peak_of_validation"]

SIZES = (1_000, 100_000, 1_000_000)

CONFIG: dict[str, Any] = {
    "contracts": {
        "tool_payloads": {
            "tools": {
                "search": {
                    "args_schema": {
                        "required": ["query"],
                        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
                    }
                },
                "book": {"args_schema": {"required": ["flight"]}, "result_schema": {"type": "string"}},
            }
        },
        "tool_order": {
            "must_precede": {"search": ["book"]},
            "only_after_success": {"book": ["search"]},
            "eventually": {"book": ["search"]},
            "forbidden_sequences": [["book", "book"]],
            "forbidden_subsequences": [["delete", "book"]],
        },
        "protocol": {"contract": "rec Next.{!search.?search.Next, !book.?book.Next, end}"},
    }
}
VIOLATED: dict[str, Any] = {
    "contracts": {
        "tool_order": {
            "must_precede": {"auth": ["search", "book"]},
            "at_most": {"search": 1},
            "forbidden_sequences": [["search", "book"]],
            "allow_unknown_tools": True,
        }
    }
}


@dataclass(frozen=True, slots=True)
class TraceCosts:
    """Seconds for one event, by the size of the trace; its bytes; megabytes of fingerprints a second; peak memory."""

    decoding: dict[int, float]
    validating: dict[int, float]
    violated: dict[int, float]
    event_bytes: float
    fingerprints: dict[str, float]
    peak_bytes: float | str

    def share(self, size: int) -> float:
        """How many times as long validating takes as decoding."""
        return self.validating[size] / self.decoding[size]

    def growth(self, *, violated: bool) -> float:
        """How much longer an event takes in the longest trace than in the one before."""
        of = self.violated if violated else self.validating
        return of[SIZES[-1]] / of[SIZES[-2]]


def measure_traces() -> TraceCosts:
    """Everything."""
    plan, strict = (compile_trace_config(load_trace_config(config)) for config in (CONFIG, VIOLATED))
    decoding, validating, violated = {}, {}, {}
    size = 0.0
    for count in SIZES:
        data = make_trace(count)
        size = len(data) / count
        rounds = 30 if count < 10_000 else 5
        # They take turns, so that a busy moment hits both.
        taken = [(_decode(data, count), _validate(data, count, plan)) for _ in range(rounds)]
        decoding[count] = min(one for one, _ in taken)
        validating[count] = min(other for _, other in taken)
        violated[count] = min(_validate(data, count, strict) for _ in range(2 if count > 10_000 else rounds))
    kinds = {
        "mixed payloads": make_mixed(20_000),
        "mixed payloads without history": make_mixed(20_000, history=False),
        "small chunks": make_chunks(100_000),
    }
    prints = {name: max(_fingerprint(data) for _ in range(10)) for name, data in kinds.items()}
    try:
        peak: float | str = in_child("bench.traces:peak_of_validation", SIZES[-1], timeout=600)
    except ChildError as error:
        peak = str(error)
    return TraceCosts(decoding, validating, violated, size, prints, peak)


def _events(count: int) -> Iterator[bytes]:
    """Lines of a run, written as they happen."""
    recorder = TraceRecorder("run-1", "example-1", keep=0, on_event=lambda event: lines.append(event_line(event)))
    lines: list[bytes] = []
    made = call = 0
    while made < count:
        recorder.record_generate_start(
            "Find a flight from Lisbon to Rome for two. " * 3, temperature=0.2, max_tokens=512
        )
        recorder.record_generate_end("I will look for flights first. " * 4, {"input": 212, "output": 44})
        for tool, arguments, result in (
            (
                "search",
                {"query": "Lisbon to Rome", "limit": 5, "stops": [0, 1]},
                [{"id": n, "price": 99.5 + n} for n in range(5)],
            ),
            ("book", {"flight": f"AZ{call}"}, "booked"),
            ("search", {"query": "hotels"}, []),
        ):
            recorder.record_tool_call(tool, arguments, f"call-{call}")
            recorder.record_tool_result(tool, result, f"call-{call}")
            call += 1
        with recorder.stream("Tell the customer", stream_id=f"stream-{call}") as stream:
            for _ in range(8):
                stream.chunk("a few words ")
        yield from lines[: count - made]
        made += len(lines)
        lines.clear()


def make_trace(count: int) -> bytes:
    """A trace of so many events. What the last ones opened stays open, which costs nothing worth speaking of."""
    return b"".join(line + b"\n" for line in _events(count))


def make_mixed(count: int, *, history: bool = True) -> bytes:
    """A trace of about so many events, of all sizes.

    The sizes are those of public recordings of tool-using agents (tau-bench, tau2-bench, AgentDojo): texts of models
    have 300 characters in the middle and 1,000 at the 90th of 100, requests 130 and 350, arguments 40 and 200, results
    200 and 1,200 with a few of many thousand; a conversation has some 24 messages, and one text in ten is not all
    ASCII. A call of a model carries the conversation so far, because models remember nothing; without `history`, only
    what is new, which is the harder case. Every fifth answer comes as a stream of a few words at a time, so a third of
    all events are small chunks.
    """
    chance = random.Random(0)

    def text(middle: int, spread: float) -> str:
        length = int(chance.lognormvariate(math.log(middle), spread))
        sentence = _SENTENCES[chance.random() < 0.1]
        return (sentence * (length // len(sentence) + 1))[:length]

    recorder = TraceRecorder("run-1", "example-1")
    messages: list[dict[str, Any]] = []
    while recorder.count < count:
        if len(messages) > 24 or not history:
            messages = []
        messages.append({"role": "user", "content": text(130, 0.8)})
        for call in range(chance.randrange(4)):
            name = f"call-{recorder.count}-{call}"
            recorder.record_chat_start(messages if history else messages[-1:], model="m", temperature=0.2)
            said = {"role": "assistant", "content": text(60, 0.8), "tool_calls": [{"id": name, "name": "search"}]}
            recorder.record_chat_end(said, {"input_tokens": 812, "output_tokens": 44, "latency_ms": 812.5})
            recorder.record_tool_call("search", {"query": text(40, 1.2), "limit": 5, "stops": [0, 1]}, name)
            found = _result(text(200, 1.4))
            recorder.record_tool_result("search", found, name)
            messages += said, {"role": "tool", "tool_call_id": name, "content": json.dumps(found)}
        answer = text(300, 0.9)
        asked = messages if history else messages[-1:]
        if chance.random() < 1 / 5:
            with recorder.stream(asked, stream_id=f"s-{recorder.count}") as stream:
                for at in range(0, len(answer), 20):
                    stream.chunk(answer[at : at + 20])
        else:
            recorder.record_chat_start(asked, model="m", temperature=0.2)
            recorder.record_chat_end({"role": "assistant", "content": answer}, {"input_tokens": 99, "output_tokens": 7})
        messages.append({"role": "assistant", "content": answer})
    return b"".join(event_line(event) + b"\n" for event in recorder.events)


_SENTENCES = (
    "The flight leaves Lisbon at 9:40 and arrives in Rome at 13:25. ",
    "O voo sai de Lisboa às 9:40 e chega a Roma às 13:25 \N{EN DASH} até já. ",
)


def _result(text: str) -> Any:  # noqa: ANN401 - any JSON
    """What a tool returns: a short text, or rows of it."""
    if len(text) < 120:
        return text
    return [
        {"id": at, "title": text[at : at + 60], "price": 99.5 + at, "seats": None, "direct": True}
        for at in range(0, len(text), 100)
    ]


def make_chunks(count: int) -> bytes:
    """A trace of small chunks and nothing else."""
    return b"".join(
        json.dumps(
            {
                "seq": n,
                "kind": "stream_chunk",
                "payload": {"chunk": "a few words ", "chunk_index": n, "stream_id": "s"},
            },
            separators=(",", ":"),
        ).encode()
        + b"\n"
        for n in range(count)
    )


def _decode(data: bytes, count: int) -> float:
    decode = msgspec.json.Decoder().decode
    lines = io.BytesIO(data)
    start = process_time()
    for line in lines:
        decode(line)
    return (process_time() - start) / count


def _validate(data: bytes, count: int, plan: TracePlan) -> float:
    file = io.BytesIO(data)
    start = process_time()
    validate_file(file, plan)
    return (process_time() - start) / count


def _fingerprint(data: bytes) -> float:
    printer = Fingerprinter(keep=False)
    start = process_time()
    for lines in read_pieces(io.BytesIO(data)):
        printer.extend(lines)
    return len(data) / (process_time() - start) / 1e6


class _Endless(io.RawIOBase):
    """A trace that is made while it is read, so that it takes no memory itself."""

    def __init__(self, count: int) -> None:
        self._lines = _events(count)
        self._kept = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while len(self._kept) < size:
            line = next(self._lines, None)
            if line is None:
                break
            self._kept += line + b"\n"
        data, self._kept = self._kept[:size], self._kept[size:]
        return data


def peak_of_validation(count: int) -> float:
    """The most memory, in bytes, that a process has while it validates so many events, Python itself included."""
    plan = compile_trace_config(load_trace_config(CONFIG))
    validate_file(_Endless(count), plan)  # type: ignore[arg-type] # it is read and nothing else
    # Not from `getrusage`: that remembers the process which started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    return int(peak) * 1024.0
