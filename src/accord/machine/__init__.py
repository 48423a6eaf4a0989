"""Compiled protocols: tables, where sessions stand in them, drawings and the codec."""

from __future__ import annotations

from accord.machine.contract import Contract, compile_document
from accord.machine.tables import Machine

__all__ = ["Contract", "Machine", "compile_document"]
