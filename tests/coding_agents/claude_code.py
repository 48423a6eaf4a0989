"""Claude Code as npm has it, in a home of its own, talking to a scripted model and to nobody else.

The package brings a program for each platform; that one is started, so that no Node of a certain version has to be
there. Nothing of this process's environment reaches it but where programs and accord are. Its proxy is the scripted
model: whatever it wants from elsewhere is refused, and fails the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.coding_agents.scripted_model import ScriptedModel

FOLDER = Path(__file__).parent
PROGRAM = next(FOLDER.glob("node_modules/@anthropic-ai/claude-code-*/claude"), None)
WITHIN = 300
"""Seconds after which a command is given up; it takes one or two."""


@dataclass(frozen=True)
class ClaudeCode:
    """One installation of a user."""

    program: Path
    home: Path
    model: ScriptedModel

    def run(self, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A command in its non-interactive form."""
        return subprocess.run(
            [self.program, *arguments],
            cwd=cwd or self.home, env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=WITHIN,
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "a-key-of-nobody",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_PLUGIN_PREFER_HTTPS": "1",  # else it asks GitHub by ssh, which knows no proxy
            "HTTP_PROXY": self.model.url,
            "HTTPS_PROXY": self.model.url,
            "NO_PROXY": "127.0.0.1",
        }


def claude_code(home: Path, model: ScriptedModel) -> ClaudeCode:
    """As somebody has it who has just installed it; skips the test where it is not installed here."""
    if PROGRAM is None:
        pytest.skip("NOT TESTED: accord in Claude Code, because `npm ci` in `tests/coding_agents` is missing")
    home.mkdir()
    return ClaudeCode(PROGRAM, home, model)
