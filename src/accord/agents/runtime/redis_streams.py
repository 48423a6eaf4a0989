"""`RedisStreams`: mailboxes in Redis, for agents of several processes and machines.

A mailbox is a stream of letters that are not settled. Posting and settling are scripts, so that a letter and the room
it takes are one step; what a process has taken and not settled when it is killed is in the stream still, and the next
life of the agent reads the stream from its beginning.

Under `PREFIX:agents:{NAME}:` stand `box`, the stream; `lanes`, how many letters of each lane are in it; `begun`, the
conversations that the agent has begun; `life`, the token of the life it belongs to, its capacity and its parts; and
`unreadable`, what was in the stream and is no letter. `PREFIX:parts:…` are the names of those that play a role.

INVARIANT: only the life that opened a mailbox last can settle letters or begin conversations. One that has lost its
mailbox to another process is told so before it can send anything.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import msgspec

from accord.agents.following import Part
from accord.agents.runtime.letters import Begun, Delivery, Letter
from accord.agents.runtime.transport import Transport
from accord.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.agents.runtime.activity import Pause

__all__ = ["RedisStreams"]

_AT_ONCE = 16
_BLOCK_MILLISECONDS = 1000
_SHORTEST, _LONGEST = 0.002, 0.1

_POST = """
local room = tonumber(redis.call('HGET', KEYS[3], 'capacity') or ARGV[4])
if ARGV[2] == '' and tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0') >= room then
    return 0
end
redis.call('XADD', KEYS[1], '*', 'letter', ARGV[3], 'lane', ARGV[1])
redis.call('HINCRBY', KEYS[2], ARGV[1], 1)
return 1
"""

# ARGV: the token, what to do with a conversation ('' nothing, 'begin', 'end'), its key, what is kept of it, numbers.
_SETTLE = """
if redis.call('HGET', KEYS[3], 'token') ~= ARGV[1] then
    return 0
end
if ARGV[2] == 'begin' then
    redis.call('HSET', KEYS[4], ARGV[3], ARGV[4])
elseif ARGV[2] == 'end' then
    redis.call('HDEL', KEYS[4], ARGV[3])
end
for index = 5, #ARGV do
    local found = redis.call('XRANGE', KEYS[1], ARGV[index], ARGV[index])
    if #found == 1 then
        local fields = found[1][2]
        for place = 1, #fields, 2 do
            if fields[place] == 'lane' and redis.call('HINCRBY', KEYS[2], fields[place + 1], -1) <= 0 then
                redis.call('HDEL', KEYS[2], fields[place + 1])
            end
        end
        redis.call('XDEL', KEYS[1], ARGV[index])
    end
end
return 1
"""


class RedisStreams(Transport):
    """Mailboxes in the Redis that `url` names, under keys that begin with `prefix`.

    `patience` is how many seconds a conversation waits for somebody to play a role that nobody plays yet. It is an
    asynchronous context manager, and closes its connections when the block ends.
    """

    def __init__(self, url: str, *, prefix: str = "accord", patience: float = 10) -> None:
        if type(prefix) is not str or quote(prefix, safe=":") != prefix or not prefix:
            raise UsageError(f"a prefix has letters, digits and `:`, `-`, `_`, `.` only, got {prefix!r}")
        driver = _load()
        self._error: type[Exception] = driver.RedisError
        self._prefix, self._patience = prefix, patience
        try:
            self._client: Any = driver.asyncio.Redis.from_url(url)
        except ValueError:
            raise UsageError("this is no address of a Redis; one is `redis://HOST:PORT/NUMBER`") from None
        self._post_script = self._client.register_script(_POST)
        self._settle_script = self._client.register_script(_SETTLE)
        self._tokens: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._read: dict[str, deque[tuple[bytes, dict[bytes, bytes]]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def open(self, name: str, parts: Sequence[Part], capacity: int) -> list[Begun]:
        """Begin a life."""
        token = secrets.token_hex(8)
        with self._told():
            before = await self.parts(name)
            async with self._client.pipeline(transaction=True) as pipe:
                for part in before:
                    pipe.srem(self._directory(part), name)
                for part in parts:
                    pipe.sadd(self._directory(part), name)
                described = msgspec.json.encode(list(parts))
                pipe.hset(self._key(name, "life"), mapping={"token": token, "capacity": capacity, "parts": described})
                pipe.hvals(self._key(name, "begun"))
                found = (await pipe.execute())[-1]
        self._tokens[name], self._last[name], self._read[name] = token, "0", deque()
        return [msgspec.json.decode(begun, type=Begun) for begun in found]

    async def find(self, part: Part) -> list[str]:
        """All agents that play a role; waits for the first one."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._patience, _SHORTEST
        while True:
            with self._told():
                found = await self._client.smembers(self._directory(part))
            if found or loop.time() >= until:
                return sorted(name.decode() for name in found)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    async def parts(self, name: str) -> list[Part]:
        """What an agent plays."""
        with self._told():
            found = await self._client.hget(self._key(name, "life"), "parts")
        return [] if found is None else msgspec.json.decode(found, type=list[Part])

    async def post(self, name: str, letter: Letter, pause: Pause) -> None:  # noqa: ARG002 - Redis is outside
        """Put a letter into a mailbox."""
        data = msgspec.json.encode(letter)
        keys = [self._key(name, "box"), self._key(name, "lanes"), self._key(name, "life")]
        arguments = [letter.lane, letter.gone, data, 100]
        wait = _SHORTEST
        while True:
            with self._told():
                kept = await self._post_script(keys=keys, args=arguments)
            if kept:
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST)

    async def take(self, name: str) -> Delivery:
        """The next letter."""
        box, read = self._key(name, "box"), self._read[name]
        while True:
            while not read:
                with self._told():
                    found = await self._client.xread({box: self._last[name]}, _AT_ONCE, _BLOCK_MILLISECONDS)
                for _, entries in found:
                    read.extend(entries)
            number, fields = read.popleft()
            self._last[name] = number.decode()
            try:
                return Delivery(number.decode(), msgspec.json.decode(fields[b"letter"], type=Letter))
            except (msgspec.MsgspecError, KeyError):
                # Not ours. It is put aside, where somebody can look at it, and does not stop what is behind it.
                with self._told():
                    await self._client.rpush(self._key(name, "unreadable"), msgspec.json.encode(repr(fields)))
                await self.settle(name, [number.decode()])

    async def settle(self, name: str, numbers: Sequence[str]) -> None:
        """These letters are dealt with."""
        await self._settle(name, "", None, numbers)

    async def begin(self, name: str, begun: Begun) -> None:
        """Remember a conversation."""
        await self._settle(name, "begin", begun, ())

    async def end(self, name: str, begun: Begun, numbers: Sequence[str]) -> None:
        """Forget a conversation."""
        await self._settle(name, "end", begun, numbers)

    async def close(self, name: str) -> None:
        """The agent stops; it stays in the directory, so that letters for it are kept."""
        self._tokens.pop(name, None)

    async def _settle(self, name: str, act: str, begun: Begun | None, numbers: Sequence[str]) -> None:
        keys = [self._key(name, what) for what in ("box", "lanes", "life", "begun")]
        which = "" if begun is None else f"{begun.conversation}/{begun.part.protocol}/{begun.part.role}"
        kept = b"" if begun is None else msgspec.json.encode(begun)
        with self._told():
            done = await self._settle_script(keys=keys, args=[self._tokens.get(name, ""), act, which, kept, *numbers])
        if not done:
            raise StoreError(f"the mailbox of agent `{name}` belongs to another process now")

    def _key(self, name: str, what: str) -> str:
        return f"{self._prefix}:agents:{{{quote(name, safe='')}}}:{what}"

    def _directory(self, part: Part) -> str:
        return f"{self._prefix}:parts:{hashlib.sha256(msgspec.json.encode(part)).hexdigest()}"

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (self._error, OSError) as error:
            raise StoreError(f"Redis did not do it ({type(error).__name__})") from error


def _load() -> Any:  # noqa: ANN401 - the driver
    try:
        import redis  # noqa: PLC0415 - only who uses it needs it
        import redis.asyncio  # noqa: PLC0415
    except ImportError:
        raise UsageError("mailboxes in Redis need its driver: pip install 'accord[redis]'") from None
    return redis
