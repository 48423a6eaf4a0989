"""A Langfuse server for tests, on a loopback port of its own: it decodes what the real SDK sends and keeps it.

Spans come as protobuf in gzip, scores as JSON. It can be made to answer with an error, or to answer nothing until it is
told to.
"""

from __future__ import annotations

import gzip
import json
import threading
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider

TRACES = "/api/public/otel/v1/traces"
SCORES = "/api/public/scores"
WITHIN = 30
"""Seconds after which whatever waits gives up."""


@dataclass(frozen=True)
class Seen:
    """An observation that arrived."""

    id: str
    trace: str
    parent: str
    name: str
    attributes: dict[str, object]
    failed: bool
    events: int

    def __getitem__(self, name):
        return self.attributes[f"langfuse.observation.{name}"]

    @property
    def type(self):
        return self["type"]

    @property
    def input(self):
        return json.loads(self["input"])

    @property
    def output(self):
        return json.loads(self["output"])

    @property
    def metadata(self):
        prefix = "langfuse.observation.metadata."
        return {k.removeprefix(prefix): json.loads(v) for k, v in self.attributes.items() if k.startswith(prefix)}

    @property
    def states(self):
        return self.metadata.get("state_before"), self.metadata.get("state_after")


@dataclass
class Receiver:
    """What has arrived, in order, and how it is answered."""

    url: str = ""
    status: int = 200
    spans: list[Seen] = field(default_factory=list)
    scores: list[dict[str, object]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    """Nothing is answered before this is set."""

    def guardrails(self):
        """In the order in which they began."""
        return [span for span in self.spans if span.type == "guardrail"]

    def named(self, name):
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def score_of(self, span):
        """The score of an observation, `None` if it has none."""
        found = [score for score in self.scores if score["observationId"] == span.id]
        assert len(found) <= 1
        return found[0] if found else None

    def take(self, path, encoding, body):
        self.paths.append(path)
        if path == TRACES:
            assert encoding == "gzip"
            request = ExportTraceServiceRequest.FromString(gzip.decompress(body))
            found = [
                (span.start_time_unix_nano, _seen(span))
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            ]
            self.spans += [seen for _, seen in sorted(found, key=lambda pair: pair[0])]
        elif path == SCORES:
            batch = json.loads(body)
            self.scores += batch if isinstance(batch, list) else [batch]
        else:
            raise AssertionError(path)


def _seen(span):
    attributes = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}
    return Seen(
        id=span.span_id.hex(),
        trace=span.trace_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        attributes=attributes,
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
        events=len(span.events),
    )


@contextmanager
def receiving():
    """A receiver that listens."""
    receiver = Receiver()
    receiver.go.set()
    problems: list[BaseException] = []

    class Handler(BaseHTTPRequestHandler):
        timeout = WITHIN

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.arrived.set()
            receiver.go.wait(WITHIN)
            if receiver.status == 200:
                try:
                    receiver.take(self.path, self.headers["content-encoding"], body)
                except BaseException as error:
                    problems.append(error)
            else:
                receiver.paths.append(self.path)
            answer = b"" if self.path == TRACES else b'{"id": "s"}'
            with suppress(OSError):  # whoever waited for it may have gone
                self.send_response(receiver.status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.go.set()
        server.shutdown()
        thread.join(WITHIN)
        server.server_close()
        assert not thread.is_alive() and problems == []


@contextmanager
def connected(url, **options):
    """The SDK's own client, with nothing of it left behind; it tries for `timeout` seconds to get rid of something."""
    key = f"pk-{uuid.uuid4()}"
    provider = options.setdefault("tracer_provider", TracerProvider())
    options.setdefault("timeout", WITHIN)
    client = Langfuse(public_key=key, secret_key="sk", base_url=url, flush_interval=0.05, **options)  # noqa: S106
    try:
        yield client
    finally:
        client.shutdown()
        provider.shutdown()
        LangfuseResourceManager._instances.pop(key, None)
