"""What accord costs, beside its nearest peer, a hand-written machine and an empty method call.

`make bench` runs it. `measure` is the method, each question has a module of its own, `bars` says what is promised.
"""
