"""A report as one page that needs nothing else: no server, no network, no permission.

The page is a skeleton, a style sheet, a script and data, put into one file. A content security policy allows exactly
that style sheet and that script, by their digests, and nothing from anywhere. Data is JSON in which no `<` is written
as itself, so nothing in it can end its element; the script puts text into the page as text and never as markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING

from accord.audit.outputs.page.content import content_of
from accord.audit.outputs.page.drawing import draw_machine
from accord.audit.report import violating_by_state

if TYPE_CHECKING:
    from typing import TextIO

    from accord.audit.report import Report

__all__ = ["write_page"]


def write_page(report: Report, stream: TextIO) -> None:
    """Write the page."""
    style, script, page = (_part(name) for name in ("page.css", "page.js", "page.html"))
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
    contract = report.audit.job.contract
    drawing = ""
    if contract.machines:
        machine = contract.machine(report.audit.job.protocol)
        drawing = draw_machine(machine, report.tally.traffic, violating_by_state(report))
    data = json.dumps(content_of(report))
    for sign, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        data = data.replace(sign, escape)
    pieces = {"policy": policy, "style": style, "script": script, "drawing": drawing, "data": data}
    # Split first and filled in afterwards: what is filled in is never looked at again.
    stream.writelines(pieces[piece] if number % 2 else piece for number, piece in enumerate(page.split("%%")))


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
