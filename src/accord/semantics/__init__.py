"""What a protocol means: a reference interpreter, written to be read.

The product runs compiled machines. This package runs the tree itself, as literally as we can, and
is never optimised. Only tests import it: they put the same questions to both engines and compare
the answers, so the two share the tree and nothing else.

Theory of operation. A *place* is what is left to do, as a stack: the top is next. On it lie tree
nodes still to run; markers that everything above belongs to the body of a loop; a timed step whose
clock runs; an interleaving under way, which holds one such stack for each part. When nothing lies
there at all, it is the end. The stack is the continuation and the environment in one:

- a branch that says nothing more falls through, because what follows the choice lies beneath it;
- a recursion variable pops to the nearest marker of its name, so inner loops shadow outer ones,
  what followed the jump is dropped, and what followed the loop is still there;
- `end` empties the stack. A part has a stack of its own, so in a part it ends only the part, and
  a variable cannot see a loop outside.

One *settles* at a place: as long as no event is needed, sequences and loops are entered, jumps made,
parts set up. An interleaving takes any event that one of its parts takes. Once every part may end,
one has either gone on to what follows it or stays until something more happens in a part; both are
followed.

A clock is started where one settles at a timed step: at the time of the event that led there. When
the time is up, what stands behind `else` takes the place of the step, and one settles there at the
moment the step was due. So every place knows its clocks, and letting time pass is to do that for
the earliest of them, again and again, until none is late. Each part has its own clock.

A *possibility* is a place together with what the registers hold there. A *state* is the set of all
possibilities that the events so far can have led to. An action is *enabled* if its clauses, read from
left to right, hold for what the event carries, and if a person made it where it is gated; what it
binds is bound in the possibility it leads to and nowhere else. The event is refused if no possibility
is left, and also if in any one of them it could be either of two branches of one choice. That two
parts could take it is another matter: there both are followed, as are a part and what comes after
the interleaving.

A sliced protocol has one such state for each key it has met, and none of them knows of the others.

Rules look at no place. They are judged on the whole list of accepted events, from the first one on,
every time; a sliced rule on the list of those that have one key, for each key. The protocol is asked
first, then the rules in their order; the first to refuse is named, and a refused event leaves no
trace in places, registers or history. Before that, time passes; if a rule is broken by that alone,
the event is not looked at.

A jump pops before it goes on, so no stack outgrows the tree and a protocol has finitely many
places (though not possibilities: registers hold what the world sends). Every search here is one
through places; it keeps the set of those it has seen and so comes to its end, even on a tree that
the checks would refuse, such as `rec X.X`.

Files: `places` says which events are legal, `clocks` how time moves one on, `data` what events may
carry, `slices` which instance they belong to, `closing` when a session may stop, `rules` what the
history permits and requires, `words` how an action is written, `session` gives verdicts.

Example:
    >>> from accord.language.tree import Action, Choice, Recursion, Variable, sequence
    >>> ask, answer, retry = Action("!", "Ask"), Action("?", "Answer"), Action("?", "Retry")
    >>> again = sequence([retry, Variable("L")])
    >>> session = Session(Recursion("L", sequence([ask, Choice((answer, again))])))
    >>> session.send("Ask").kind, session.receive("Retry").kind, session.allowed()
    ('ok', 'ok', ['!Ask'])
    >>> session.receive("Answer")
    Verdict(kind='violation', expected=('!Ask',), clause='protocol')
"""

from accord.semantics.closing import is_complete
from accord.semantics.places import Misuse, State, moves, start, step
from accord.semantics.session import Session, Verdict
from accord.semantics.words import word

__all__ = ["Misuse", "Session", "State", "Verdict", "is_complete", "moves", "start", "step", "word"]
