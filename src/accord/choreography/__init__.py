"""Protocols between roles: from text to one machine for all and one for each, if the roles can follow it."""

from __future__ import annotations

from accord.choreography.choreography import Choreography, compile_choreography, findings_in, project

__all__ = ["Choreography", "compile_choreography", "findings_in", "project"]
