"""A report as one JSON object: what `summary_of` says, and behind it all runs, one to a line.

The text is ASCII, so no terminal and no encoding of a pipe can be made to do anything by it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from accord.audit.report import summary_of

if TYPE_CHECKING:
    from typing import TextIO

    from accord.audit.report import Report

__all__ = ["write_json"]


def write_json(report: Report, stream: TextIO) -> None:
    """Write the report."""
    summary = json.dumps(summary_of(report), indent=2)
    stream.write(summary[:-2])  # all but the closing brace
    stream.write(',\n  "runs": [')
    separator = "\n    "
    for verdict in report.audit.verdicts():
        stream.write(separator)
        stream.write(json.dumps(verdict.to_json()))
        separator = ",\n    "
    stream.write("\n  ]\n}\n")
