"""`RedisStore`: sessions in Redis.

Redis runs a script as one step, so a step is one script: if what is kept is still what was judged, the ledger's entry
is added and the session replaced; else the script says what is there, and it is judged again. Nobody can be made to
wait in Redis, so a race may be lost several times. Those who lose wait a little, each for a different time, and then
look again: what they saw before they waited is old. After `tries` lost races the answer is no.

A session is two keys, `PREFIX:{KEY}:session`, a text, and `PREFIX:{KEY}:ledger`, a list. In a text stand the version
and the time of expiry, a line feed, and the sealed record.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from secrets import token_bytes
from threading import RLock
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from accord.errors import StoreError, UsageError
from accord.stores.forks import Forking
from accord.stores.record import Row
from accord.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from accord.stores.store import Change, Judge

__all__ = ["SCHEMA", "RedisStore"]

SCHEMA = 1
"""The version of what stands under the keys."""

_PAGE = 256
_NO_TEXT = b"no text"  # as the script says it: something stands there, but no text
_SHORTEST, _LONGEST = 0.0005, 0.05

# INVARIANT: the ledger is written first. If Redis has no memory left it refuses the first command that writes, and
# takes all those that follow one it has not refused: so either both are written or none.
_STEP = """
local there = redis.pcall('GET', KEYS[1])
if there == false then
    there = ''
elseif type(there) ~= 'string' or there == '' then
    there = 'no text'
end
if there ~= ARGV[1] then
    return {ARGV[4], 0, there}
end
local first = tonumber(ARGV[3])
if first >= 0 and redis.call('LLEN', KEYS[2]) ~= first then
    return {ARGV[4], 2, ''}
end
if ARGV[2] == '' then
    redis.call('DEL', KEYS[1], KEYS[2])
    return {ARGV[4], 1, ''}
end
if first < 0 then
    redis.call('DEL', KEYS[2])
end
for number = 5, #ARGV do
    redis.call('RPUSH', KEYS[2], ARGV[number])
end
redis.call('SET', KEYS[1], ARGV[2])
return {ARGV[4], 1, ''}
"""


class RedisStore(Store, Forking):
    """Sessions in the Redis that `url` names, under keys that begin with `prefix`.

    `timeout` bounds connecting and every answer, in seconds; `tries` is how many races an attempt may lose.
    """

    def __init__(
        self, url: str, *, secret: bytes | None = None, prefix: str = "accord", timeout: float = 10, tries: int = 64
    ) -> None:
        super().__init__(secret=secret)
        self._driver = _load()
        if type(prefix) is not str or quote(prefix, safe=":") != prefix or not prefix:
            raise UsageError(f"a prefix has letters, digits and `:`, `-`, `_`, `.` only, got {prefix!r}")
        self._prefix = prefix
        self._tries = tries
        self._closed = False
        self._losing = RLock()
        self._trying = False
        self._url, self._timeout = url, timeout
        self._client = self._make_client()
        self._inherited: Any = None
        try:
            with self._told():
                self._check_server()
                self._script: str = self._client.script_load(_STEP)
        except BaseException:
            self.close()
            raise
        self.watch_forks()

    def after_fork_there(self) -> None:
        """Begin with a lock that nobody holds, and with a client of our own: the driver's has such locks too."""
        self._losing = RLock()
        self._trying = False
        self._inherited, self._client = (self._inherited, self._client), self._make_client()

    def _make_client(self) -> Any:  # noqa: ANN401 - what the driver gives
        never = self._driver.retry.Retry(self._driver.backoff.NoBackoff(), 0)
        try:
            return self._driver.Redis.from_url(
                self._url,
                socket_timeout=self._timeout,
                socket_connect_timeout=self._timeout,
                # What was sent twice may be done twice. A driver that tries again by itself would not tell us.
                retry=never,
            )
        except ValueError:
            # Not a word of why: it may quote the password.
            said = "`redis://USER:PASSWORD@HOST:PORT/NUMBER`, where special characters of a password are written as %XX"
            raise UsageError(f"this is no address of a Redis; one is {said}") from None

    # -- what a kind of store does -------------------------------------------------------------------------------------

    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """One compare-and-step: one script, and another one for each race that was lost."""
        row = self.row(key) if guess is None else guess
        change = judge(row)
        there: bytes | None = b""
        if change is not None:
            there = self._step(key, row, change)
        if there is None or (change is None and guess is None):
            return
        # Those of one process who have lost try one at a time: threads that race each other help nobody. A step that is
        # nested in another, by a finalizer, tries at once: what makes a step whole is the script.
        old = change is None or self._trying
        with self._losing:
            self._trying = True
            try:
                row = self.row(key) if old else _unpacked(there) if there else None
                for lost in range(1, self._tries):
                    change = judge(row)
                    if change is None or self._step(key, row, change) is None:
                        return
                    sleep(random.uniform(0, min(_SHORTEST * 2**lost, _LONGEST)))  # noqa: S311 - no secret
                    row = self.row(key)
            finally:
                self._trying = False
        raise StoreError(f"somebody else was quicker {self._tries} times")

    def row(self, key: str) -> Row | None:
        """What is kept for a key."""
        return self._get(self._key(key, "session"))

    def _get(self, name: str | bytes) -> Row | None:
        with self._told():
            try:
                text = self._client.get(name)
            except self._driver.exceptions.ResponseError as error:
                if not str(error).startswith("WRONGTYPE"):
                    raise
                text = b""
        if text is not None and type(text) is not bytes:
            self._hang_up()
            raise StoreError("Redis has answered another question")
        return None if text is None else _unpacked(text or _NO_TEXT)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """What is kept, for every key, in no order."""
        opening, ending = f"{self._prefix}:{{", "}:session"
        seen = set()
        cursor = 0
        while True:
            with self._told():
                cursor, found = self._client.scan(cursor, match=f"{opening}*{ending}", count=_PAGE)
                texts = self._client.mget(found) if found else []
            for name, text in zip(found, texts, strict=True):
                if name in seen:  # Redis may tell of a key twice
                    continue
                seen.add(name)
                row = _unpacked(text) if text else self._get(name)  # what is no text is not told above
                key = unquote(name.decode("utf-8", "backslashreplace").removeprefix(opening).removesuffix(ending))
                # Others may have made keys that look like ours; those of which ours could be made stand for no session.
                if row is not None and self._key(key, "session").encode() == name:
                    yield key, row
            if not cursor:
                return

    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """Lines of a session's ledger."""
        if count < 1:
            return []
        with self._told():
            found: list[bytes] = self._client.lrange(self._key(key, "ledger"), start, start + count - 1)
            return found

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._client.close()

    # -- Redis ---------------------------------------------------------------------------------------------------------

    def _key(self, key: str, part: str) -> str:
        # What stands in braces decides where a cluster keeps a key: both parts of a session are in one place.
        return f"{self._prefix}:{{{quote(key, safe='')}}}:{part}"

    def _step(self, key: str, row: Row | None, change: Change) -> bytes | None:
        """Change what is kept if it is that row; else what is there."""
        keys = self._key(key, "session"), self._key(key, "ledger")
        first = -1 if change.row is None or change.drop else change.first
        # Whoever is interrupted may leave an answer in a connection, and the next one would take it for its own. So
        # each question has a number of its own, and its answer repeats it.
        number = token_bytes(8)
        arguments = (*keys, _packed(row), _packed(change.row), first, number, *change.lines)
        with self._told():
            try:
                answer = self._client.evalsha(self._script, 2, *arguments)
            except self._driver.exceptions.NoScriptError:  # the server was restarted, and has done nothing
                answer = self._client.eval(_STEP, 2, *arguments)
        if type(answer) is not list or len(answer) != 3 or answer[0] != number:
            self._hang_up()
            raise StoreError("Redis has answered another question")
        _, done, there = answer
        if done == 2:
            raise StoreError(f"the ledger of session `{key}` does not have as many entries as its record says")
        return None if done == 1 else bytes(there)

    def _check_server(self) -> None:
        """`UsageError` if this Redis holds sessions of a newer accord, or would throw some away."""
        name = f"{self._prefix}:schema"
        self._client.set(name, SCHEMA, nx=True)
        found = self._client.get(name)
        if found != str(SCHEMA).encode():
            said = f"under `{name}` stands version {found!r} of the schema"
            raise UsageError(f"{said}, and this accord knows {SCHEMA}: a newer one has written it")
        try:
            settings = self._client.config_get("maxmemory-policy")
        except self._driver.exceptions.ResponseError:
            return  # who runs it does not let us ask
        policy = str(settings.get("maxmemory-policy", settings.get(b"maxmemory-policy", b"")))
        if "allkeys" in policy:
            raise UsageError("this Redis throws keys away when memory is short; set `maxmemory-policy noeviction`")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of Redis as errors of a store."""
        if self._closed:
            raise StoreError("the store is closed")
        try:
            yield
        except self._driver.RedisError as error:
            raise StoreError(f"Redis says: {error}") from error
        except Exception:
            raise
        except BaseException:
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        """Close the connections that nobody uses: in one of them may be an answer that nobody has taken."""
        self._client.connection_pool.disconnect(inuse_connections=False)


def _load() -> ModuleType:
    try:
        import redis  # noqa: PLC0415 - an extra
        import redis.backoff  # noqa: PLC0415
        import redis.retry  # noqa: PLC0415
    except ImportError:
        raise UsageError("a RedisStore needs redis: pip install 'accord-contracts[redis]'") from None
    return redis


def _packed(row: Row | None) -> bytes:
    if row is None:
        return b""
    if row.version < 0:
        return row.sealed
    expires = "" if row.expires is None else repr(float(row.expires))
    return b"%d %b\n%b" % (row.version, expires.encode("ascii"), row.sealed)


def _unpacked(text: bytes) -> Row:
    """The row in a text. In a corrupted one anything may stand: that is a row of no version, which is no record."""
    head, _, sealed = text.partition(b"\n")
    version, _, expires = head.partition(b" ")
    try:
        row = Row(int(version), float(expires) if expires else None, sealed)
    except ValueError:
        return Row(-1, None, text)
    return row if row.version >= 0 and _packed(row) == text else Row(-1, None, text)
