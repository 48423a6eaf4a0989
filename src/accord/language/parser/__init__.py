"""Tokens to a tree: `document` reads declarations, `local` the protocols in them, both through a `Cursor`."""

from __future__ import annotations

from accord.language.parser.document import parse_document

__all__ = ["parse_document"]
