"""What every store has to pass: no answered attempt lost, no one-shot action admitted twice, nothing let through.

Derive a class from `StoreConformance` and give it a fixture `harness`, a `StoreHarness` of an empty store:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        def harness(self, tmp_path):
            return MyHarness(tmp_path)

With `ACCORD_SOAK` set in the environment the long tests run at full volume.
"""

from __future__ import annotations

from accord.testing.conformance.concurrency import ConcurrencyTests
from accord.testing.conformance.corruption import CorruptionTests
from accord.testing.conformance.crashes import CrashTests
from accord.testing.conformance.faults import FaultTests
from accord.testing.conformance.forks import ForkTests
from accord.testing.conformance.keeping import KeepingTests
from accord.testing.conformance.stepping import SteppingTests
from accord.testing.conformance.time import TimeTests

__all__ = ["StoreConformance"]


class StoreConformance(
    SteppingTests, KeepingTests, TimeTests, CorruptionTests, FaultTests, ConcurrencyTests, CrashTests, ForkTests
):
    """All of it."""
