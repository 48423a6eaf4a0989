"""The command line: `accord check`, `fmt`, `show`, `replay`, `step`, `verify`, `ledger`, `sessions`, `trace` and more.

One file per command, loaded when it is called; `app` holds the group and turns every error into a message and an exit
status. Commands do the reading and the printing; what they print is computed by the layers below.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from accord.cli.exit_status import ExitStatus

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started us closed it
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    # A label may hold any character, an output only those of its encoding: a character that it lacks becomes an escape.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    status: object = ExitStatus.INTERRUPTED
    try:
        from accord.cli.app import app

        app.main(prog_name="accord")
    except KeyboardInterrupt:
        pass
    except SystemExit as end:
        # Ctrl-C before a command has begun is turned into another error on the way.
        if not isinstance(getattr(end.__context__, "__context__", None), KeyboardInterrupt):
            status = end.code
    try:
        sys.stdout.flush()
    except OSError as error:
        # The reader is gone or the disk full. What is left goes nowhere, lest the interpreter complain at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = ExitStatus.PIPE_CLOSED if isinstance(error, BrokenPipeError) else status or ExitStatus.USAGE
    sys.exit(status)  # type: ignore[arg-type] # SystemExit says `object`, and gave it itself
