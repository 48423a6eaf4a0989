"""The studio: a local page on which contracts are stepped through, built, and held against what agents have done.

Everything that is decided is decided here, by the same engine that guards agents: the page in `page/` draws what it is
told. Requests are values and answers are values; nothing is kept between two requests but what was opened at the start,
so undoing is asking again with one event less, and a link can hold everything there is.
"""

from __future__ import annotations
