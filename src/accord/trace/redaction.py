"""What must not be seen, taken out of payloads together with every copy of it.

A place is named by a JSON pointer into the payload; `*` stands for any key or index, `**` for any number of them. What
stands there is replaced. A text of four characters or more that stood there is a *secret*: it is replaced wherever else
it stands, alone or inside a longer text or a key, in its own payload and in the other events of the trace.

Shorter texts, numbers and booleans are replaced in their place only: they stand everywhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.trace.marks import is_mark

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SHORTEST_SECRET", "Cover", "Redaction"]

SHORTEST_SECRET = 4

_Route = tuple[str, ...]
_Ways = list[tuple[_Route, int]]


class Redaction:
    """The places that must not be seen and what stands there instead.

    Example:
        >>> redaction = Redaction(["/arguments/key"])
        >>> redaction.redact({"arguments": {"key": "sk-123"}, "note": "used sk-123"})
        {'arguments': {'key': '<redacted>'}, 'note': 'used <redacted>'}
    """

    def __init__(self, json_pointers: Iterable[str], replacement: str = "<redacted>") -> None:
        if isinstance(json_pointers, str):
            raise UsageError("`json_pointers` is a list of texts, got a text")
        self.replacement = replacement
        self._routes = [read_pointer(text) for text in json_pointers]

    def __bool__(self) -> bool:
        return bool(self._routes)

    def cover(self, payloads: Iterable[object]) -> Cover:
        """What must not be seen in any of the payloads of a trace; a copy may stand before what it is a copy of."""
        found: set[str] = set()
        if self._routes:
            for payload in payloads:
                self._replace(payload, [(route, 0) for route in self._routes], found)
        return Cover(found, self.replacement)

    def redact(self, payload: dict[str, Any], cover: Cover | None = None) -> dict[str, Any]:
        """A copy without what must not be seen; `cover` knows the secrets of the whole trace."""
        found: set[str] = set()
        replaced = self._replace(payload, [(route, 0) for route in self._routes], found)
        if cover is None:
            cover = Cover(found, self.replacement)
        result: dict[str, Any] = cover.over(replaced)
        return result

    def _replace(self, value: Any, ways: _Ways, found: set[str]) -> Any:  # noqa: ANN401 - payload values
        if not ways or is_mark(value):
            return value
        if isinstance(value, dict):
            return {key: self._at(str(key), item, ways, found) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._at(str(place), item, ways, found) for place, item in enumerate(value)]
        return value

    def _at(self, key: str, item: Any, ways: _Ways, found: set[str]) -> Any:  # noqa: ANN401 - payload values
        further: _Ways = []
        for route, place in ways:
            starts = [place]
            if route[place] == "**":
                further.append((route, place))
                starts = [place + 1]
            for start in starts:
                if route[start] in {"*", key}:
                    if start + 1 == len(route):
                        self._keep(item, found)
                        return self.replacement
                    further.append((route, start + 1))
        return self._replace(item, further, found)

    def _keep(self, value: object, found: set[str]) -> None:
        if isinstance(value, str):
            if len(value) >= SHORTEST_SECRET and value != self.replacement:
                found.add(value)
        elif isinstance(value, dict) and not is_mark(value):
            for key, item in value.items():
                self._keep(key, found)
                self._keep(item, found)
        elif isinstance(value, list | tuple):
            for item in value:
                self._keep(item, found)


class Cover:
    """Secrets, and how to find all of them in a text at once, in time linear in the text."""

    def __init__(self, secrets: Iterable[str], replacement: str) -> None:
        written = set(secrets)
        for secret in list(written):  # as they stand in JSON that is itself a text
            written.add(json.dumps(secret)[1:-1])
            written.add(json.dumps(secret, ensure_ascii=False)[1:-1])
        written -= {replacement}
        self._replacement = replacement
        # The longest first: where one secret is the beginning of another, all of it must go.
        self._words = [_bytes(word) for word in sorted(written, key=lambda word: (-len(word), word))]
        self._search: Any = None

    def __bool__(self) -> bool:
        return bool(self._words)

    def over(self, value: Any) -> Any:  # noqa: ANN401 - payload values
        """A copy in which no secret is left."""
        if not self._words or is_mark(value):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            covered: dict[str, Any] = {}
            for key, item in value.items():
                name = shown = self.text(key) if isinstance(key, str) else key
                count = 1
                while name in covered:  # two keys that must not be seen stay two
                    count += 1
                    name = f"{shown} ({count})"
                covered[name] = self.over(item)
            return covered
        if isinstance(value, list | tuple):
            return [self.over(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """The text without any secret."""
        if len(text) < SHORTEST_SECRET or not self._words:
            return text
        data = _bytes(text)
        if len(self._words) <= 4:
            if not any(word in data for word in self._words):
                return text
        elif self._pattern().search(data) is None:
            return text
        parts, start = [], 0
        replacement = _bytes(self._replacement)
        for match in self._pattern().finditer(data):
            parts += [data[start : match.start()], replacement]
            start = match.end()
        parts.append(data[start:])
        return b"".join(parts).decode("utf-8", "surrogatepass")

    def _pattern(self) -> Any:  # noqa: ANN401 - re2 has no types
        if self._search is None:
            import re2  # noqa: PLC0415 - loaded where something is redacted

            options = re2.Options()
            options.encoding = re2.Options.Encoding.LATIN1
            options.max_mem = 1 << 30
            options.log_errors = False
            # What was put in place of a secret is not looked into again.
            words = [_bytes(self._replacement), *self._words] if self._replacement else self._words
            self._search = re2.compile(b"|".join(map(re2.escape, words)), options)
        return self._search


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def read_pointer(text: object) -> _Route:
    """The parts of a JSON pointer; `UsageError` if it is none."""
    if not isinstance(text, str) or not text.startswith("/") or len(text) == 1:
        raise UsageError(f"a JSON pointer begins with `/` and names a place, such as `/arguments/key`, got {text!r}")
    parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))
    if parts[-1] == "**":
        raise UsageError(f"behind `**` a JSON pointer says what is looked for, got {text!r}")
    return parts
