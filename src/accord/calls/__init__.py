"""A session while calls are out: what may have happened, what may follow, and what a failure means.

Doors: `entries` (what has happened, and what is out), `worlds` (where the session may be), `ways` (which steps of
people make a call legal), `replay` (a recorded run, judged as a guard would have decided about it).
"""
