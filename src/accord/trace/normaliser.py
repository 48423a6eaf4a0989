"""`TracePayloadNormaliser`: of a payload what should be the same in the next run.

In this order: what must not be seen is taken out; keys that carry noise are dropped, at any depth; texts that are too
long, and the places in `hash_paths`, are replaced by their digest. So what was dropped has no part in any digest.

A digest stands as `{"$accord": "hashed", "sha256": …}`. Such an object stays as it is when a payload is normalised
again: normalising twice is normalising once.
"""

from __future__ import annotations

from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any

from accord.canonical import encode, encode_plain, sorting_encoder
from accord.errors import UsageError
from accord.language.patterns import PatternError, compile_pattern
from accord.ledger.represent import MARK
from accord.trace.marks import is_mark, make_mark
from accord.trace.redaction import Cover, Redaction, read_pointer
from accord.trace.sealed import unseal
from accord.trace.values import DEEPEST, NotJsonError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DROP_KEYS", "HASH_PATHS", "HASH_STRINGS_OVER", "TracePayloadNormaliser"]

DROP_KEYS = ("request_id", "response_id", "created", "timestamp", "latency_ms")
HASH_PATHS = ("result", "raw")
HASH_STRINGS_OVER = 512

_REMEMBERED_KEYS = 10_000
_EXACT = 1 << 53
_TOO_DEEP = f"it is nested deeper than {DEEPEST}, or inside itself"


class TracePayloadNormaliser:
    """Drops noise, hashes what is large, and gives payloads one form.

    `drop_keys` and `drop_key_regex` (RE2, searched for) name keys at any depth. `hash_paths` are keys of the payload,
    or JSON pointers into it (`/response/raw`, `/steps/*/raw`). Texts of more than `hash_strings_over` characters are
    hashed; `None` hashes none. `redact` takes out what must not be seen.

    Example:
        >>> normalise = TracePayloadNormaliser(hash_paths=[]).normalise
        >>> normalise({"tool_name": "search", "latency_ms": 12, "hits": [{"id": 1.0, "created": 99}]})
        {'tool_name': 'search', 'hits': [{'id': 1}]}
    """

    def __init__(
        self,
        drop_keys: Iterable[str] = DROP_KEYS,
        drop_key_regex: Iterable[str] = (),
        hash_paths: Iterable[str] = HASH_PATHS,
        hash_strings_over: int | None = HASH_STRINGS_OVER,
        redact: Redaction | Iterable[str] | None = None,
        replacement: str = "<redacted>",
    ) -> None:
        self._drop = frozenset(_texts(drop_keys, "drop_keys"))
        self._patterns = [_pattern(text) for text in _texts(drop_key_regex, "drop_key_regex")]
        paths = [path if path.startswith("/") else f"/{_escaped(path)}" for path in _texts(hash_paths, "hash_paths")]
        routes = [read_pointer(path) for path in paths]
        self._hash_keys = frozenset(route[0] for route in routes if len(route) == 1 and route[0] not in {"*", "**"})
        self._hash_routes = [route for route in routes if len(route) > 1 or route[0] in {"*", "**"}]
        if hash_strings_over is not None and (type(hash_strings_over) is not int or hash_strings_over < 0):
            raise UsageError(f"`hash_strings_over` is a number of characters or `None`, got {hash_strings_over!r}")
        self._longest = float("inf") if hash_strings_over is None else hash_strings_over
        self.redaction = redact if isinstance(redact, Redaction) else Redaction(redact or (), replacement)
        self._known: dict[str, bool] = {}
        self._redacts = bool(self.redaction)
        self._quick = sorting_encoder()

    def normalise(self, payload: Mapping[str, Any], cover: Cover | None = None) -> dict[str, Any]:
        """A payload in its normal form, which shares nothing with it; `cover` knows the secrets of the whole trace.

        Raises `NotJsonError`, with the place, for what JSON cannot hold.
        """
        normal: dict[str, Any] = unseal(self._normal(payload, cover, []))  # type: ignore[assignment] # it stays one
        return normal

    normalize = normalise
    __call__ = normalise

    def encode(self, payload: Mapping[str, Any], cover: Cover | None = None) -> bytes:
        """The canonical bytes of the payload's normal form."""
        odd: list[object] = []
        normal = self._normal(payload, cover, odd)
        if odd:
            return encode(normal)
        try:
            data = self._quick(normal)
        except UnicodeEncodeError:  # a lone surrogate
            return encode(normal)
        return data if data.isascii() else encode_plain(normal)

    def _normal(self, payload: Mapping[str, Any], cover: Cover | None, odd: list[object]) -> dict[str, Any]:
        if self._redacts:
            payload = self.redaction.redact(dict(payload), cover)
        elif type(payload) is not dict:
            payload = dict(payload)
        normal = self._object(payload, 0, odd)
        if not self._hash_keys.isdisjoint(normal):
            if normal is payload:
                normal = normal.copy()
            for key in self._hash_keys:
                if key in normal and not is_mark(normal[key]):
                    normal[key] = _hashed(normal[key], odd)
        if self._hash_routes:
            normal = self._hash_at(normal, [(route, 0) for route in self._hash_routes])
        return normal

    def _object(self, value: dict[str, Any], depth: int, odd: list[object]) -> dict[str, Any]:  # noqa: C901, PLR0912
        """The normal form of an object: itself, if that is its normal form. It is in one piece because it is hot."""
        if self._patterns or not self._drop.isdisjoint(value):
            value = self._without_noise(value)
        longest = self._longest
        normal: dict[str, Any] | None = None
        key: Any = None
        new: Any
        try:
            for key, item in value.items():
                kind = type(item)
                if type(key) is not str:
                    return self._object({_key(name): of for name, of in value.items()}, depth, odd)
                if kind is str:
                    if len(item) <= longest:
                        continue
                    new = _hashed(item, odd)
                elif kind is int or item is None or kind is bool:
                    continue
                elif kind is dict and depth < DEEPEST and MARK not in item:
                    new = self._object(item, depth + 1, odd)
                elif kind is list and depth < DEEPEST:
                    new = self._array(item, depth + 1, odd)
                elif kind is float and 1e-3 <= item < 1e15 and item % 1:
                    continue
                else:
                    new = self._other(item, depth + 1, odd)
                if new is not item:
                    if normal is None:
                        normal = value.copy()
                    normal[key] = new
        except NotJsonError as error:
            raise error.within(key if isinstance(key, str) else repr(key)) from None
        return value if normal is None else normal

    def _array(self, value: list[Any] | tuple[Any, ...], depth: int, odd: list[object]) -> list[Any]:
        """The normal form of an array: itself, if that is its normal form."""
        longest = self._longest
        normal: list[Any] | None = None
        place = 0
        new: Any
        try:
            for place, item in enumerate(value):
                kind = type(item)
                if kind is dict and depth < DEEPEST and MARK not in item:
                    new = self._object(item, depth + 1, odd)
                elif kind is int or item is None or kind is bool or (kind is str and len(item) <= longest):
                    continue
                else:
                    new = self._other(item, depth + 1, odd)
                if new is not item:
                    if normal is None:
                        normal = list(value)
                    normal[place] = new
        except NotJsonError as error:
            raise error.within(place) from None
        return normal if normal is not None else value if type(value) is list else list(value)

    def _other(self, value: Any, depth: int, odd: list[object]) -> Any:  # noqa: ANN401 - payload values
        """The normal form of what needs a closer look."""
        if depth > DEEPEST and isinstance(value, dict | list | tuple):
            raise NotJsonError(_TOO_DEEP, ())
        if isinstance(value, dict):
            plain = value if type(value) is dict else dict(value)
            return plain if is_mark(plain) else self._object(plain, depth, odd)
        if isinstance(value, list | tuple):
            return self._array(list(value), depth, odd)
        if isinstance(value, float):
            return _float(value, odd)
        if isinstance(value, str):
            text = str.__str__(value)
            return _hashed(text, odd) if len(text) > self._longest else text
        if isinstance(value, int):
            return int.__index__(value)
        kind = type(value)
        raise NotJsonError(f"a `{kind.__module__}.{kind.__qualname__}` is no JSON", ())

    def _without_noise(self, value: dict[str, Any]) -> dict[str, Any]:
        if self._patterns:
            return {key: item for key, item in value.items() if key not in self._drop and not self._is_noise(key)}
        clean = value.copy()
        for key in self._drop.intersection(value):
            del clean[key]
        return clean

    def _is_noise(self, key: str) -> bool:
        if not isinstance(key, str):
            return False
        known = self._known.get(key)
        if known is None:
            known = any(found(key) for found in self._patterns)
            if len(self._known) < _REMEMBERED_KEYS:
                self._known[key] = known
        return known

    def _hash_at(self, value: Any, ways: list[tuple[tuple[str, ...], int]]) -> Any:  # noqa: ANN401 - payload values
        if not isinstance(value, dict | list) or is_mark(value):
            return value
        pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        normal = dict(value) if isinstance(value, dict) else list(value)
        for key, item in pairs:
            further: list[tuple[tuple[str, ...], int]] = []
            hit = False
            for route, place in ways:
                start = place
                if route[place] == "**":
                    further.append((route, place))
                    start = place + 1
                if route[start] in {"*", str(key)}:
                    if start + 1 == len(route):
                        hit = True
                    else:
                        further.append((route, start + 1))
            if hit:
                normal[key] = item if is_mark(item) else _hashed(item, [True])
            elif further:
                normal[key] = self._hash_at(item, further)
        return normal


def _texts(values: Iterable[str], name: str) -> list[str]:
    found = [values] if isinstance(values, str) else list(values)
    if isinstance(values, str) or not all(isinstance(value, str) for value in found):
        raise UsageError(f"`{name}` is a list of texts, got {values!r}")
    return found


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _pattern(text: str) -> Any:  # noqa: ANN401 - a function of one text
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise UsageError(f"`drop_key_regex`: `{text}` is no pattern of RE2: {error}") from None


def _key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise NotJsonError(f"a key is a `{type(key).__name__}` and no text", ())


def _hashed(value: Any, odd: list[object]) -> dict[str, str]:  # noqa: ANN401 - payload values
    return make_mark(sha256(encode(value) if odd else encode_plain(value)).hexdigest())


def _float(value: float, odd: list[object]) -> int | float:
    size = abs(value)
    if value.is_integer() and size < _EXACT:
        return int(value)  # one number, one form
    if not isfinite(value):
        raise NotJsonError(f"{value!r} is no JSON number", ())
    if not 1e-3 <= size < 1e15:
        odd.append(value)
    return float(value)
