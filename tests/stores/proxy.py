"""A connection that can be cut at the worst moment: what was asked has been done, and the answer does not arrive."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Stands in front of a server on loopback; instead of the answer to a question with these bytes, it hangs up."""

    def __init__(self, port) -> None:
        self.behind = port
        self.wanted = b""
        self.open = []
        self.asked = threading.Event()
        self.cut = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                here, _ = self.listening.accept()
                there = socket.create_connection(("127.0.0.1", self.behind))
                self.open += [here, there]
                threading.Thread(target=self._pass_on, args=(here, there, False), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(there, here, True), daemon=True).start()

    def _pass_on(self, source, target, answers):
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if answers and self.asked.is_set():
                    self.asked.clear()
                    self.cut.set()
                    break
                if not answers and self.wanted and self.wanted in data:
                    self.wanted = b""
                    self.asked.set()
                target.sendall(data)
        for side in (source, target):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (self.listening, *self.open):
            each.close()
