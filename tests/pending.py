"""The one switch for what only the reference semantics can run yet.

While it is off, tests of contracts with deadlines and slices leave out the machine and everything built on it.
"""

MACHINE_RUNS_TIME_AND_SLICES = False
