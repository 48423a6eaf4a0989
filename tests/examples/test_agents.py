"""The example with agents: what it prints is what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents" / "stewards.py"


def test_the_stewards():
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True, timeout=300)
    well, crash, forgetful = run.stdout.strip().split("\n\n")
    assert well.count("3 clients have followed") == 2
    assert "change 2, drop_column in users" in crash
    assert crash.index("has crashed, I call the operator") < crash.index("operator: I look at users")
    assert "change 3, add_table in orders" in crash, "what is persistent is remembered"
    assert "E076: protocol `SchemaSync` requires `APISteward` to send" in forgetful
    assert run.stdout.count("verified") == 3
    assert run.stderr == ""
