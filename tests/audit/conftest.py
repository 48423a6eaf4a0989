"""Audits that are closed when their test is over."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from accord import compile
from accord.audit import audit
from tests.audit.recorded import CONFIRM


@pytest.fixture
def audited():
    """Call it with paths, and with a contract and options if they matter, for an audit in this process."""
    with ExitStack() as stack:

        def made(paths, contract=CONFIRM, **options):
            options.setdefault("jobs", 1)
            return stack.enter_context(audit(compile(contract), [str(path) for path in paths], **options))

        yield made
