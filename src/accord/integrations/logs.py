"""What a guard does, as structured records of the standard `logging`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.integrations.guard.observing import Observer
from accord.monitor.verdicts import Ok
from accord.monitor.wording import name_plainly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.observing import Watched
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["LogObserver"]

_LONGEST = 1000


class LogObserver(Observer):
    """Logs every decision and every result: `Guard(…, observers=[LogObserver()])`.

    Each record has a field `accord`, a dictionary of plain values, for whoever formats logs as JSON. What is let
    through is logged as INFO, everything else as WARNING, a tool that raises as ERROR. Arguments are not logged; the
    messages of refusals quote what they are about, clipped and made visible.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger("accord.guard") if logger is None else logger

    def decided(self, watched: Watched, decisions: Sequence[Decision], seconds: float) -> None:
        """One record for each call."""
        for decision in decisions:
            level, what, why = logging.WARNING, str(decision.status), decision.message
            if decision.admitted and decision.verdict is None:
                level = logging.INFO
            elif decision.admitted and not isinstance(decision.verdict, Ok | None):  # illegal, and let run all the same
                what, why = "let run", decision.verdict.explain()
            said: dict[str, object] = {"seconds": seconds, "status": decision.status}
            if decision.verdict is not None:
                said["verdict"] = type(decision.verdict).__name__.lower()
            if decision.review is not None:
                said["review"] = decision.review.id
            self._log(level, f"{what}: ", why, watched, decision.call, said)

    def returned(self, watched: Watched, call: ToolCall, verdict: Verdict, seconds: float) -> None:
        """One record for each result."""
        fine = type(verdict) is Ok
        said: dict[str, object] = {"seconds": seconds, "status": "returned", "verdict": type(verdict).__name__.lower()}
        message = "" if isinstance(verdict, Ok) else verdict.explain()
        self._log(logging.INFO if fine else logging.WARNING, "returned: ", message, watched, call, said)

    def failed(self, watched: Watched, call: ToolCall, error: str) -> None:
        """One record for each tool that failed."""
        self._log(logging.ERROR, "failed: ", error, watched, call, {"status": "failed"})

    def happened(self, watched: Watched, event: Event, verdict: Verdict, seconds: float) -> None:
        """One record for each event that is no call."""
        level = logging.INFO if type(verdict) is Ok else logging.WARNING
        said: dict[str, object] = {"seconds": seconds, "status": "happened", "verdict": type(verdict).__name__.lower()}
        if event.by is not None:
            said["by"] = clip(event.by, _LONGEST)
        message = "" if isinstance(verdict, Ok) else verdict.explain()
        word = f"{event.direction}{event.label}"
        self._write(level, f"happened: {name_plainly(word)}", message, watched, {"event": clip(word, 100), **said})

    def _log(
        self, level: int, what: str, message: str, watched: Watched, call: ToolCall, said: dict[str, object]
    ) -> None:
        facts: dict[str, object] = {
            "tool": clip(str(call.name), 100),
            "call": clip(call.id, _LONGEST) if isinstance(call.id, str) else None,
        }
        self._write(level, f"{what}{name_plainly(str(call.name) or 'a call')}", message, watched, {**facts, **said})

    def _write(self, level: int, what: str, message: str, watched: Watched, said: dict[str, object]) -> None:
        if not self._logger.isEnabledFor(level):
            return
        facts = {
            **said,
            "session": None if watched.key is None else clip(watched.key, _LONGEST),
            "contract": watched.contract,
            "protocol": watched.protocol,
            "message": clip(message, _LONGEST) or None,
        }
        text = f"{what}{f': {clip(message, _LONGEST)}' if message else ''}"
        self._logger.log(level, "%s", text, extra={"accord": {k: v for k, v in facts.items() if v is not None}})
