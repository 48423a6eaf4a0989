"""Mistakes such as a tired engineer makes, planted one at a time: which of them do the tests not find? `make mutants`.

`operators` make the mistakes from the source's text, `drawing` picks some of them by a seed, `nearest` knows which
tests execute the lines, `trying` runs those against a copy of `src`, and `kept` reads `survivors.md`, where every
mistake that no test can find has its reason.
"""
