"""What accord says about a text: where, what, and how to mend it.

`Source` is a named text, `Span` a stretch of it, `Diagnostic` one finding. The renderers stand beside this file, one
per output: `text` for people, `machine_readable` for programs (JSON, SARIF, GitHub annotations). `codes` is the one
table of all codes, from which `accord explain` and the documentation are made.
"""

from __future__ import annotations

from accord.diagnostics.model import Diagnostic, Note, Source, Span, did_you_mean

__all__ = ["Diagnostic", "Note", "Source", "Span", "did_you_mean"]
