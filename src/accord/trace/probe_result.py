"""What a probe gives back, and what it raises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from accord.errors import ViolationError
from accord.ledger.represent import represent
from accord.trace.redaction import Cover

if TYPE_CHECKING:
    from accord.trace.events import RunId
    from accord.trace.violations import Violation

__all__ = ["ProbeResult", "TraceViolationError"]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One run of an agent.

    `status` is `success`, `error` if the agent raised, or `violation` if the probe failed because of what the trace
    shows. `metadata["custom"]["trace"]` holds the trace: fingerprint, violations, tool sequence, events.
    """

    input: Any
    output: Any = None
    status: Literal["success", "error", "violation"] = "success"
    error: str | None = None
    error_type: str | None = None
    exception: BaseException | None = field(default=None, compare=False, repr=False)
    metadata: dict[str, Any] = field(default_factory=lambda: {"custom": {}})
    violations: tuple[Violation, ...] = ()
    run_id: RunId = None
    example_id: RunId = None
    cover: Cover = field(default_factory=lambda: Cover((), ""), compare=False, repr=False)

    @property
    def ok(self) -> bool:
        """Whether the agent came to its end and the probe did not fail."""
        return self.status == "success"

    @property
    def trace(self) -> dict[str, Any]:
        """The trace; empty if traces are switched off."""
        found: dict[str, Any] = self.metadata["custom"].get("trace", {})
        return found

    def to_record(self) -> dict[str, Any]:
        """Plain JSON values, in which nothing is left that must not be seen; the trace is under `custom`."""
        record = {
            "run_id": self.run_id,
            "example_id": self.example_id,
            "input": represent(self.input, reprs=False),
            "output": represent(self.output, reprs=False),
            "status": self.status,
            "error": self.error,
            "error_type": self.error_type,
            "custom": self.metadata["custom"],
        }
        covered: dict[str, Any] = self.cover.over(record)
        return covered


class TraceViolationError(ViolationError):
    """A run broke its trace contracts, and the configuration says that the whole run fails."""

    def __init__(self, result: ProbeResult) -> None:
        count = len(result.violations)
        first = f"{result.violations[0]}" if result.violations else ""
        more = f" (and {count - 1} more)" if count > 1 else ""
        super().__init__(f"the trace breaks its contracts: {first}{more}", response=result, results=result.violations)
        self.result = result
