"""What a protocol means: a reference interpreter, written to be read.

The product runs compiled machines. This package runs the tree itself, as literally as we can, and
is never optimised. Only tests import it: they put the same questions to both engines and compare
the answers, so the two share the tree and nothing else.

Theory of operation. A *place* is what is left to do, as a stack: the top is next. Four kinds of
thing lie on it: tree nodes still to run; a marker that everything above belongs to the body of a
loop; an interleaving under way, which holds one such stack for each part; and, when nothing lies
there at all, the end. The stack is the continuation and the environment in one:

- a branch that says nothing more falls through, because what follows the choice lies beneath it;
- a recursion variable pops to the nearest marker of its name, so inner loops shadow outer ones,
  what followed the jump is dropped, and what followed the loop is still there;
- `end` empties the stack. A part has a stack of its own, so in a part it ends only the part, and
  a variable cannot see a loop outside.

A place *unfolds*, without an event, into the places it amounts to (a choice into its branches, a
loop into its body), and an action on top *takes* an event. An interleaving takes any event that one
of its parts takes, and unfolds into what follows it once every part may end.

A *possibility* is a place together with what the registers hold there. A *state* is the set of all
possibilities that the events so far can have led to. An action is *enabled* if its clauses, read from
left to right, hold for what the event carries, and if a person made it where it is gated; what it
binds is bound in the possibility it leads to and nowhere else. The event is refused if no possibility
is left, and also if in any one of them it could be either of two branches of one choice. That two
parts could take it is another matter: there both are followed, as are a part and what comes after
the interleaving.

Rules look at no place. They are judged on the whole list of accepted events, from the first one on,
every time. The protocol is asked first, then the rules in their order; the first to refuse is named,
and a refused event leaves no trace in places, registers or history.

A jump pops before it goes on, so no stack outgrows the tree and a protocol has finitely many
places (though not possibilities: registers hold what the world sends). Every search here is one
through places; it keeps the set of those it has seen and so comes to its end, even on a tree that
the checks would refuse, such as `rec X.X`.

Files: `places` says which events are legal, `data` what they may carry, `closing` when a session may
stop, `rules` what the history permits and requires, `words` how an action is written, `session`
gives verdicts.

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
from accord.semantics.places import State, moves, start, step
from accord.semantics.session import Session, Verdict
from accord.semantics.words import word

__all__ = ["Session", "State", "Verdict", "is_complete", "moves", "start", "step", "word"]
