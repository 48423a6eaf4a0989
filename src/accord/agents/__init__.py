"""Agents that follow protocols: what they declare, and what is known of their code before it runs."""

from __future__ import annotations
