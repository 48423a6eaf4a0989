"""Sessions in a store, their ledgers, and what people are asked in them.

Looking needs the store alone. Deciding needs the contract that a session was begun under: it is looked for among the
files that the studio was opened on, by its digest.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from accord.choreography.compiling import load_contract
from accord.diagnostics.visible import clip, visible
from accord.errors import ContractError, UsageError
from accord.integrations.guard import Guard
from accord.integrations.guard.reading import guard_object, guarded_in, guarded_session, review_object
from accord.language.labels import print_word
from accord.studio.ledgers import shown_entry
from accord.studio.numbers import check_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.integrations.guard.reading import GuardedSession
    from accord.integrations.guard.state import Review
    from accord.machine.contract import Contract
    from accord.stores import Store
    from accord.studio.files import Files
    from accord.studio.requests import Decide

__all__ = ["Desk"]

_ENTRIES_SHOWN = 200
_SESSIONS_SHOWN = 2_000
_REVIEWS_SHOWN = 200
_PATIENCE = 8.0


class Desk:
    """A store that is looked at, and decided in if the studio may write."""

    def __init__(self, store: Store | None, files: Files) -> None:
        self._store = store
        self._files = files

    @property
    def store(self) -> Store:
        """The store; `UsageError` if the studio was opened without one."""
        if self._store is None:
            raise UsageError("the studio was opened without a store; `accord studio --store sessions.db` opens one")
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether there is a store."""
        return self._store is not None

    def sessions(self) -> dict[str, object]:
        """All sessions, and what people are asked in them."""
        now = time.time()
        until = monotonic() + _PATIENCE
        infos = sorted(_in_time(self.store.sessions(), until), key=lambda info: info.key)
        guarded = sorted(_in_time(guarded_in(self.store), until), key=lambda session: session.key)
        asked = [(session, review) for session in guarded for review in session.reviews]
        # What waits comes first: of what is over, less may be shown.
        asked.sort(key=lambda pair: pair[0].standing(pair[1], now) != "open")
        return {
            "sessions": [
                {name: value for name, value in asdict(info).items() if name != "head"}
                for info in infos[:_SESSIONS_SHOWN]
            ],
            "more": max(len(infos) - _SESSIONS_SHOWN, 0),
            "reviews": [self._review(session, review, now) for session, review in asked[:_REVIEWS_SHOWN]],
            "more_reviews": max(len(asked) - _REVIEWS_SHOWN, 0),
            "writable": self._files.writable,
        }

    def _review(self, session: GuardedSession, review: Review, now: float) -> dict[str, object]:
        """A review with what is shown to whoever decides: nothing in it can pose as anything else."""
        payload = json.dumps(dict(review.payload), indent=2, ensure_ascii=False, default=str)
        return {
            **review_object(session, review, now),
            "shown": "\n".join(visible(line) for line in payload.split("\n")),
            "word": clip(print_word("!", review.label), 200),
            "gate": None if review.gate is None else clip(print_word("?", review.gate), 200),
        }

    def session(self, key: str) -> dict[str, object]:
        """One session: how it stands, its ledger verified, and the last of what was tried in it."""
        info = self.store.session(key)
        if info is None:
            raise UsageError(f"there is no session `{clip(key)}`")
        told: dict[str, object] = asdict(info)
        if info.fault is not None or info.status == "expired":
            return told | {"ledger": None, "entries": [], "before": 0, "guard": None}
        guarded = guarded_session(self.store, key)
        if guarded is not None and guarded.fault is None:
            told["guard"] = guard_object(guarded, time.time())
        result = self.store.verify(key)
        finding = None if result.finding is None else visible(str(result.finding))
        first = max(result.entries - _ENTRIES_SHOWN, 0)
        lines = self.store.lines(key, first, result.entries - first) if result.ok else []
        return told | {
            "ledger": {"ok": result.ok, "entries": result.entries, "finding": finding},
            "entries": [shown_entry(json.loads(line)["entry"]) for line in lines],
            "before": first,
        }

    def decide(self, request: Decide) -> dict[str, object]:
        """Decide a review. Unless this returns, nothing was decided."""
        if not self._files.writable:
            raise UsageError("the studio only reads; start it with `--write` to decide")
        if not request.by.strip():
            raise UsageError("say who decides")
        info = self.store.session(request.session)
        if info is None or info.fault is not None:
            raise UsageError(f"session `{clip(request.session)}` is not there, or is corrupted")
        guarded = guarded_session(self.store, request.session)
        found = [review for review in guarded.reviews if review.id == request.review] if guarded is not None else []
        if guarded is None or not found:
            raise UsageError("there is no such review any more; look again")
        if request.answer == "modify":
            check_numbers([found[0].payload, request.payload], "accord review")
        if guarded.is_over(time.time()):
            raise UsageError("the session has expired; nothing can be decided in it")
        guard = Guard(
            self._contract(info.contract),
            store=self.store,
            key=request.session,
            protocol=info.protocol,
            clock=time.time,
        )
        review = guard.decide(
            request.review, request.answer, by=request.by, reason=request.reason or None, payload=request.payload
        )
        again = guarded_session(self.store, request.session) or guarded
        return self._review(again, review, time.time())

    def _contract(self, digest: str) -> Contract:
        """The contract of that digest, among the files."""
        for path in self._files.paths:
            if not path.is_file():  # it was when the studio was opened; a pipe would be waited for
                continue
            try:
                contract = load_contract(path, limits=self._files.limits)
            except (ContractError, UsageError):
                continue
            if contract.digest == digest:
                return contract
        raise UsageError(
            "the contract that the session was begun under is not among the files; open the studio on its folder"
        )


_T = TypeVar("_T")


def _in_time(found: Iterable[_T], until: float) -> Iterator[_T]:
    """What is found, unless that takes too long for a page: part of it would look like all of it."""
    for one in found:
        if monotonic() > until:
            raise UsageError(
                "the store holds more sessions than can be looked at here; `accord sessions` and `accord review` can"
            )
        yield one
