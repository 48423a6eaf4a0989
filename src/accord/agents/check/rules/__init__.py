"""The rules, one file each: when code breaks a protocol, and what is said then."""

from __future__ import annotations
