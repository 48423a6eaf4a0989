"""From what really took place to the events of a contract: the one way that every surface goes.

A *happening* is a call, the end of a call, something said, or an event of the program, before any contract looks at it.
The *projection* of a contract says which event each happening is, what it carries, and whom it reaches. Whoever judges
agents, live or recorded, asks it and builds nothing of its own.
"""

from accord.projection.happenings import KINDS, Happened, Happening, Kind
from accord.projection.labels import Label, Labeller, labeller_of
from accord.projection.projection import Projected, Projection, projection_of

__all__ = [
    "KINDS",
    "Happened",
    "Happening",
    "Kind",
    "Label",
    "Labeller",
    "Projected",
    "Projection",
    "labeller_of",
    "projection_of",
]
