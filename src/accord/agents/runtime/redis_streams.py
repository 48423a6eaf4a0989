"""`RedisStreams`: mailboxes in Redis, for agents of several processes and machines.

A mailbox is a stream of letters that are not settled. Posting and settling are scripts, so that a letter and the room
it takes are one step; what a process has taken and not settled when it is killed is in the stream still, and the next
life of the agent reads the stream from its beginning.

Under `PREFIX:agents:{NAME}:` stand `box`, the stream; `lanes`, how many letters of each lane are in it; `begun`, the
conversations that the agent has begun; `broken`, the last ones that are over though the protocol was not; `life`, the
token of the life it belongs to, its capacity, its wills, and whether it is `gone`, that is, held for one that is dead;
and `unreadable`, the last things that were in the stream and are no letter. `PREFIX:parts:…` are the names of those
that play a role, and `PREFIX:beats` has a token and a number for each agent that lives, or has died and was not laid to
rest; the number changes while its process is there.

INVARIANT: everything that is asked of Redis can be asked again without harm.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import msgspec

from accord.agents.failures import SupersededError
from accord.agents.runtime import redis_scripts as scripts
from accord.agents.runtime.estates import Estate, Left, Will
from accord.agents.runtime.leases import LOOKS, Watch
from accord.agents.runtime.letters import MOST_REMEMBERED, Begun, Delivery, Letter
from accord.agents.runtime.redis_asking import LONGEST, SHORTEST, Asking, decode, look_until
from accord.agents.runtime.transport import Transport
from accord.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.following import Part
    from accord.agents.runtime.activity import Pause

__all__ = ["RedisStreams"]

_AT_ONCE = 16
_BLOCK_SECONDS = 1.0
_MOST_UNREADABLE = 1000
_DEFAULT_CAPACITY = 100


@dataclass
class _Box:
    """A mailbox that this process holds."""

    token: str
    inherited: bool = False
    last: str = "0-0"
    read: deque[tuple[bytes, dict[bytes, bytes]]] = field(default_factory=deque)
    lost: StoreError | None = None


class RedisStreams(Transport):
    """Mailboxes in the Redis that `url` names, under keys that begin with `prefix`.

    A process that is not heard of for `lease` seconds is given up for dead: its partners are told, and it can send
    nothing any more. `patience` is how many seconds to wait for somebody to play a role that nobody plays yet, for room
    in a mailbox before it is filled beyond its bound, and for a Redis that is not there when an agent starts.

    It is an asynchronous context manager, and closes its connections when the block ends.
    """

    def __init__(self, url: str, *, prefix: str = "accord", patience: float = 10, lease: float = 10) -> None:
        if type(prefix) is not str or quote(prefix, safe=":") != prefix or not prefix:
            raise UsageError(f"a prefix has letters, digits and `:`, `-`, `_`, `.` only, got {prefix!r}")
        if not lease > 0 or not patience >= 0:
            raise UsageError("`lease` is a number of seconds, `patience` too, or 0")
        self._prefix, self._patience, self._lease = prefix, patience, lease
        self._asking = Asking(url, lease)
        self._ask = self._asking.ask
        self._client = client = self._asking.client
        self._post_script = client.register_script(scripts.POST)
        self._settle_script = client.register_script(scripts.SETTLE)
        self._beat_script = client.register_script(scripts.BEAT)
        self._inherit_script = client.register_script(scripts.INHERIT)
        self._rest_script = client.register_script(scripts.REST)
        self._boxes: dict[str, _Box] = {}
        self._superseded: dict[str, StoreError] = {}
        self._heard = time.monotonic()
        """When the last request was sent by which others know that this process lives."""
        self._beats = count()
        self._watch = Watch()
        self._watching = asyncio.Lock()
        self._orphans: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    # -- lives ---------------------------------------------------------------------------------------------------------

    async def open(self, name: str, wills: Sequence[Will], capacity: int) -> Left:
        """Begin a life."""
        if name in self._superseded:
            raise self._superseded[name]
        token, now = secrets.token_hex(8), time.monotonic()
        before = await self._parts(name)
        described = msgspec.json.encode(list(wills))
        life = {"token": token, "capacity": capacity, "wills": described, "gone": ""}

        async def write() -> list[Any]:
            async with self._client.pipeline(transaction=True) as pipe:
                for part in before:
                    pipe.srem(self._directory(part), name)
                for will in wills:
                    pipe.sadd(self._directory(will.part), name)
                pipe.hset(self._key(name, "life"), mapping=life)
                pipe.hset(self._key("beats"), name, token)
                pipe.hvals(self._key(name, "begun"))
                pipe.lrange(self._key(name, "broken"), 0, -1)
                return (await pipe.execute())[-2:]  # type: ignore[no-any-return] # a list of answers

        begun, broken = await self._ask(write, self._patience)
        if not self._boxes:
            self._heard = now
        self._boxes[name] = _Box(token)
        return _left(begun, broken)

    async def close(self, name: str) -> None:
        """The agent stops; it stays in the directory, so that letters for it are kept."""
        box = self._boxes.pop(name, None)
        if box is not None and box.inherited:
            keys = [self._key("beats"), self._key(name, "life"), self._key(name, "box")]
            await self._ask(lambda: self._rest_script(keys=keys, args=[box.token, name, box.last]))

    async def inherit(self) -> Estate:
        """Be heard of, listen for others, and open the mailbox of one that is dead."""
        async with self._watching:
            while True:
                while self._orphans:
                    name, beat = self._orphans.popitem()
                    estate = await self._open_for(name, beat)
                    if estate is not None:
                        return estate
                await asyncio.sleep(self._lease / LOOKS)
                await self._beat()

    async def _beat(self) -> None:
        names = list(self._boxes)
        keys = [self._key("beats"), *(self._key(name, "life") for name in names)]
        tokens = [part for name in names for part in (name, self._boxes[name].token)]
        now = time.monotonic()
        arguments = [next(self._beats), *tokens]
        try:
            standing, flat = await self._ask(lambda: self._beat_script(keys=keys, args=arguments), 0)
        except StoreError:
            self._watch.forget()
            return
        for name, token, answer in zip(names, tokens[1::2], standing, strict=True):
            box = self._boxes.get(name)
            if box is not None and box.token == token and answer != scripts.OK:
                box.lost = self._loss(name, answer)
        self._heard = now
        beats = {name.decode(): beat.decode() for name, beat in zip(flat[::2], flat[1::2], strict=True)}
        silent = self._watch.look(beats)
        self._orphans = {name: beat for name, beat in silent.items() if name not in self._boxes}

    async def _open_for(self, name: str, beat: str) -> Estate | None:
        """The estate of one that is dead; `None` if it is not, or if somebody else deals with it."""
        token, life = secrets.token_hex(8), self._key(name, "life")

        async def take_over() -> int:
            return await self._inherit_script(keys=[self._key("beats"), life], args=[name, beat, token])  # type: ignore[no-any-return] # a number

        async def read() -> list[Any]:
            async with self._client.pipeline(transaction=True) as pipe:
                pipe.hget(life, "wills")
                pipe.hvals(self._key(name, "begun"))
                pipe.lrange(self._key(name, "broken"), 0, -1)
                pipe.xrange(self._key(name, "box"))
                return await pipe.execute()  # type: ignore[no-any-return] # a list of answers

        try:
            if not await self._ask(take_over, 0):
                return None
            wills, begun, broken, entries = await self._ask(read, 0)
            known, left = [] if wills is None else decode(wills, list[Will]), _left(begun, broken)
        except StoreError:
            return None  # it is inherited again after another lease: by then Redis may be back, or who can read it
        letters = [_delivery(number, fields) for number, fields in entries]
        last = entries[-1][0].decode() if entries else "0-0"
        self._boxes[name] = _Box(token, inherited=True, last=last)
        return Estate(name, known, left, [delivery for delivery in letters if delivery is not None])

    def loss(self, name: str) -> StoreError | None:
        """Why a mailbox may belong to somebody else: that is known, or this process was silent for too long."""
        box = self._boxes.get(name)
        if box is not None and box.lost is not None:
            return box.lost
        silent = time.monotonic() - self._heard
        if silent < self._lease:
            return None
        return StoreError(f"this process was not heard of for {silent:.0f} s: others may have given it up for dead")

    # -- who plays what ------------------------------------------------------------------------------------------------

    async def find(self, part: Part) -> list[str]:
        """All agents that play a role and live; waits for the first one, and then names those that have died."""

        async def look() -> tuple[list[str], list[str]]:
            found = await self._ask(lambda: self._client.smembers(self._directory(part)), self._patience)
            names = sorted(name.decode() for name in found)

            async def gone() -> list[bytes | None]:
                async with self._client.pipeline(transaction=False) as pipe:
                    for name in names:
                        pipe.hget(self._key(name, "life"), "gone")
                    return await pipe.execute()  # type: ignore[no-any-return] # a list of answers

            dead = await self._ask(gone, self._patience)
            return [name for name, answer in zip(names, dead, strict=True) if answer != b"1"], names

        living, names = await look_until(look, lambda found: bool(found[0]), self._patience)
        return living or names

    async def parts(self, name: str) -> list[Part]:
        """What an agent plays; waits until there is one of that name."""
        return await look_until(lambda: self._parts(name), bool, self._patience)

    async def _parts(self, name: str) -> list[Part]:
        found = await self._ask(lambda: self._client.hget(self._key(name, "life"), "wills"), self._patience)
        return [] if found is None else [will.part for will in decode(found, list[Will])]

    # -- letters -------------------------------------------------------------------------------------------------------

    async def post(self, name: str, letter: Letter, pause: Pause) -> None:  # noqa: ARG002 - Redis is outside
        """Put a letter into a mailbox."""
        sender = letter.cast.get(letter.sender, "")
        keys = [self._key(name, what) for what in ("box", "lanes", "life")]
        keys += [self._key(sender, "life"), self._key("beats")]
        data = msgspec.json.encode(letter)
        until, wait = time.monotonic() + self._patience, SHORTEST
        while True:
            # Two that wait for room in each other's mailboxes would wait for ever, so the bound gives way in the end.
            unbounded = letter.gone or (time.monotonic() >= until and "late")
            arguments = [self._token(sender), letter.lane, unbounded or "", data, _DEFAULT_CAPACITY, name]
            answer = await self._ask(partial(self._post_script, keys=keys, args=arguments))
            if answer == scripts.OK:
                return
            if answer == scripts.ORPHANED:
                raise StoreError(f"agent `{name}` is dead, nobody has started it again, and its mailbox is full")
            if answer != scripts.FULL:
                raise self._loss(sender, answer)
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST)

    async def take(self, name: str) -> Delivery:
        """The next letter."""
        stream, box = self._key(name, "box"), self._boxes[name]
        block = max(1, int(1000 * min(_BLOCK_SECONDS, self._lease / LOOKS)))
        while True:
            while not box.read:
                if box.lost is not None:
                    raise box.lost
                found = await self._ask(lambda: self._client.xread({stream: box.last}, _AT_ONCE, block))
                for _, entries in found:
                    box.read.extend(entries)
            number, fields = box.read.popleft()
            box.last = number.decode()
            delivery = _delivery(number, fields)
            if delivery is not None:
                return delivery
            await self._put_aside(name, number, fields)

    async def _put_aside(self, name: str, number: bytes, fields: dict[bytes, bytes]) -> None:
        """What is not ours is put where somebody can look at it, and does not stop what is behind it."""
        aside, shown = self._key(name, "unreadable"), msgspec.json.encode(repr(fields)[:10_000])
        await self._ask(lambda: self._client.lpush(aside, shown))
        await self._ask(lambda: self._client.ltrim(aside, 0, _MOST_UNREADABLE - 1))
        await self.settle(name, [number.decode()])

    async def settle(self, name: str, numbers: Sequence[str]) -> None:
        """These letters are dealt with."""
        await self._settle(name, "", None, numbers)

    async def begin(self, name: str, begun: Begun) -> None:
        """Remember a conversation."""
        await self._settle(name, "begin", begun, ())

    async def end(self, name: str, begun: Begun, numbers: Sequence[str], *, broken: bool) -> None:
        """Forget a conversation."""
        await self._settle(name, "break" if broken else "end", begun, numbers)

    async def _settle(self, name: str, act: str, begun: Begun | None, numbers: Sequence[str]) -> None:
        keys = [self._key(name, what) for what in ("box", "lanes", "life", "begun", "broken")]
        which = "" if begun is None else f"{begun.conversation}/{begun.part.protocol}/{begun.part.role}"
        kept = b"" if begun is None else msgspec.json.encode(begun)
        arguments = [self._token(name), act, which, kept, MOST_REMEMBERED, *numbers]
        answer = await self._ask(lambda: self._settle_script(keys=keys, args=arguments))
        if answer != scripts.OK:
            raise self._loss(name, answer)

    # -- asking --------------------------------------------------------------------------------------------------------

    def _token(self, name: str) -> str:
        return self._boxes[name].token if name in self._boxes else ""

    def _loss(self, name: str, answer: int) -> StoreError:
        if answer != scripts.SUPERSEDED:
            return StoreError(f"agent `{name}` was not heard of in time and given up for dead")
        error = SupersededError(f"the mailbox of agent `{name}` belongs to another process now")
        if name in self._boxes:
            self._superseded[name] = error
        return error

    def _key(self, *path: str) -> str:
        if len(path) == 1:
            return f"{self._prefix}:{path[0]}"
        name, what = path
        return f"{self._prefix}:agents:{{{quote(name, safe='')}}}:{what}"

    def _directory(self, part: Part) -> str:
        return f"{self._prefix}:parts:{hashlib.sha256(msgspec.json.encode(part)).hexdigest()}"


def _delivery(number: bytes, fields: dict[bytes, bytes]) -> Delivery | None:
    try:
        return Delivery(number.decode(), decode(fields[b"letter"], Letter))
    except (StoreError, KeyError):
        return None


def _left(begun: list[bytes], broken: list[bytes]) -> Left:
    over = [decode(each, Begun) for each in broken]
    return Left([decode(each, Begun) for each in begun], [(each.conversation, each.part) for each in over])
