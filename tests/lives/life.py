"""One long life of a session under guard, with an account beside it that says which answers are right.

Each step does one thing that agents, programs, people or the world do: a batch is asked for and run, calls come back
or fail or get lost, people decide, the user speaks, time passes, the process ends and another goes on. The account is
asked first, then the guard; they must agree, and from time to time all that the guard remembers is looked at.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from accord import Guard, NotDone, Ok, ToolCall
from accord.machine.contract import Contract
from tests.lives.account import Account, Call
from tests.lives.desk import Desk, Question, action
from tests.lives.keeping import revived
from tests.lives.patience import Patience
from tests.lives.tables import Seen

REMEMBERED = 64
"""Calls that have run are known by their id until so many others have."""
MOST_OUT = 5
OUTCOMES = {"returns": 14, "raises": 3, "not done": 1, "is interrupted": 1}
ALL_AT_ONCE = 40
"""After so many steps everything that is remembered is compared."""
BOTH = 12
"""So many steps a copy of the session is lived beside it."""


class DifferenceError(Exception):
    """The guard and the account do not agree."""


class Life:
    """A session, its guard, its account. `store` is where it is kept, if not in the guard."""

    def __init__(
        self,
        scene: type[Account],
        contract: Contract,
        rng: Random,
        seen: Seen,
        *,
        store: Any = None,
        key: str = "s",
        patience: int | None = None,
        lost_for_ever: bool = False,
    ) -> None:
        self.contract, self.rng, self.seen, self.scene = contract, rng, seen, scene
        self.account = scene()
        self.store, self.key = store, key
        self.lost_for_ever = lost_for_ever
        self.patience = Patience(patience)
        self.lasts = rng.choice((None, 40.0)) if scene.options.get("when_over") is None else None
        self.desk = Desk(self.lasts)
        self.escalate = rng.choice(("stop", "review"))
        self.now = 0.0
        self.numbered = 0
        self.ids = 0
        self.ran: dict[str, str] = {}
        self.ended: list[str] = []
        self.stopped = False
        self.asked_for: list[tuple[str, dict]] = []
        self.script: list[tuple[str, dict]] = []
        self.effects: list[tuple[str, dict]] = []
        self.steps = 0
        self.copy: Guard | None = None
        self.copied = 0
        self.kinds: Counter[str] = Counter()
        self.guard = self.open()
        self.asks_people = self.guard._session.policy.asks_people

    def open(self, *, kept: bool = True) -> Guard:
        """The guard of the session, as a process opens it that has just begun."""
        place = {"store": self.store, "key": self.key} if kept and self.store is not None else {}
        return Guard(
            self.contract, tools={name: self.tool(name) for name in self.scene.tools}, clock=lambda: self.now,
            patience=self.patience.limit, escalate=self.escalate, review_lasts=self.lasts, events=self.scene.events,
            **self.scene.options, **place,
        )  # fmt: skip

    def tool(self, name: str) -> Any:
        """A tool that does what the script says, and tells that it ran."""

        def work(**arguments: Any) -> Any:
            self.effects.append((name, arguments))
            how, result = self.script.pop(0) if self.script else ("raises", {})
            if how == "raises":
                raise TimeoutError("no answer")
            if how == "not done":
                raise NotDone("not now")
            if how == "is interrupted":
                raise KeyboardInterrupt
            return result

        return work

    # -- living --------------------------------------------------------------------------------------------------------

    def live(self, steps: int) -> None:
        """So many steps, each compared."""
        for _ in range(steps):
            self.steps += 1
            if self.rng.random() < 0.35:
                self.now += self.rng.choice((0.5, 1, 2, 5, 10)) if self.rng.random() < 0.97 else 400
                self.account.now = self.now
            self.step()
            self.compare()

    def step(self) -> None:
        """What happens next, by lot: something about the session as a whole, or something with a call."""
        dice = self.rng.random()
        said = self.account.saying(self.rng) if 0.02 <= dice < 0.17 else None
        if self.stopped and dice < 0.5:
            self.resume()
        elif dice < 0.004:
            self.again()
        elif dice < 0.02:
            self.end_twice()
        elif said is not None:
            self.say(*said)
        elif 0.17 <= dice < 0.18:
            self.tick()
        else:
            self.go_on()

    def go_on(self) -> None:
        rng, waiting = self.rng, self.desk.open_ones(self.now)
        ending = [call for call in self.account.out if not self.stays_lost(call)]
        if waiting and rng.random() < 0.35:
            self.decide(rng.choice(waiting))
        elif ending and (rng.random() < 0.3 or len(self.account.out) >= MOST_OUT):
            self.end(rng.choice(ending))
        elif rng.random() < 0.25:
            self.reserve(self.batch())
        else:
            self.run(self.batch())

    def stays_lost(self, call: Call) -> bool:
        return self.lost_for_ever and call.lost and call is next(c for c in self.account.out if c.lost)

    def both(self, act: Any, script: list[tuple[str, dict]] | None = None) -> Any:
        """Do it, and do it to the copy if there is one; the answer and what ran, which must be the same."""
        answers = []
        for guard in (self.guard, self.copy) if self.copy is not None else (self.guard,):
            self.script, self.effects = list(script or ()), []
            try:
                answer = act(guard)
            except KeyboardInterrupt:
                answer = "interrupted"
            answers.append((answer, self.effects))
        if any(other != answers[0] for other in answers[1:]):
            raise DifferenceError(f"it answers {answers[0]}, and its copy {answers[1]}")
        if "failed inside" in str(answers[0]):
            raise DifferenceError(f"it broke: {answers[0]}")
        return answers[0]

    def note(self, tool: str, kind: str) -> None:
        self.kinds[kind] += 1
        self.seen.note(self.scene.constructs[tool], kind)

    # -- asking for calls ----------------------------------------------------------------------------------------------

    def batch(self) -> list[ToolCall]:
        many = 1 if self.patience.counts else self.rng.choice((1, 1, 1, 2, 3))
        return [self.call() for _ in range(many)]

    def call(self) -> ToolCall:
        rng = self.rng
        tool, arguments = self.account.wish(rng)
        if self.asked_for and rng.random() < 0.5:
            tool, arguments = rng.choice(self.asked_for)
        dice = rng.random()
        lost = [call for call in self.account.out if call.lost]
        same = [call for call in lost if (call.tool, call.arguments) == (tool, arguments)]
        if lost and dice > 0.8:  # somebody tries it again
            again = rng.choice(same or lost)
            return ToolCall(again.tool, again.arguments, again.ticket)
        if dice < 0.05 and self.ids:
            return ToolCall(tool, arguments, f"i{rng.randint(max(1, self.ids - rng.choice((3, 80))), self.ids)}")
        if dice < 0.15:
            return ToolCall(tool, arguments, "")
        self.ids += 1
        return ToolCall(tool, arguments, f"i{self.ids}")

    def reserve(self, calls: list[ToolCall]) -> None:
        """Whoever runs tools in another way asks about a batch."""
        late = self.account.late(self.now)
        expected = [status for status, _ in self.judge_all(calls, list(range(len(calls))), late, can_wait=False)]
        answer, effects = self.both(lambda guard: [(d.status, d.ticket) for d in guard.reserve(calls)])
        self.adopt_stop(calls)
        if effects or ([status for status, _ in answer] != expected and not self.has_just_stopped(expected)):
            raise DifferenceError(f"{calls} were {answer}, expected {expected}")

    def run(self, calls: list[ToolCall]) -> None:
        """A batch is run by the guard; what its tools do is drawn before."""
        rng = self.rng
        hows = rng.choices((*OUTCOMES,), (*OUTCOMES.values(),), k=len(calls))
        script: list[tuple[str, dict]] = []
        worked: list[tuple[str, dict]] = []
        expected: dict[int, bool] = {}
        left, late, interrupted = list(range(len(calls))), self.account.late(self.now), False
        going: list[tuple[int, Call]] = []
        while (left or going) and not interrupted:
            decided = self.judge_all(calls, left, late, can_wait=True, started=True, ahead=bool(going))
            asked, left, late = left, [], False
            for place, (status, call) in zip(asked, decided, strict=True):
                if status == "held":  # it is looked at again whenever something has come back
                    left.append(place)
                elif call is None:
                    expected[place] = False
                else:
                    going.append((place, call))
            if going:
                place, call = going.pop(0)
                how, result = hows[place], self.account.result(rng, call)
                script.append((how, result))
                worked.append((call.tool, call.arguments))
                expected[place], interrupted = self.came_back(call, how, result), how == "is interrupted"
        for _, call in reversed(going):  # the interrupt has cut them off
            self.take_back(call)
        answer, effects = self.both(lambda guard: [result.ok for result in guard.run(calls)], script)
        self.adopt_stop(calls)
        if effects != worked:
            raise DifferenceError(f"of {calls} ran {effects}, expected {worked}")
        if interrupted != (answer == "interrupted"):
            raise DifferenceError(f"{calls}: {answer}")
        if not interrupted and answer != [expected[place] for place in range(len(calls))]:
            raise DifferenceError(f"{calls} came back {answer}, expected {expected}")

    def judge_all(
        self,
        calls: list[ToolCall],
        left: list[int],
        late: bool,
        *,
        can_wait: bool,
        started: bool = False,
        ahead: bool = False,
    ) -> list[tuple[str, Call | None]]:
        """What must be said about the calls that are left of a batch, in order; `ahead` says that some are out."""
        decided: list[tuple[str, Call | None]] = []
        held = False
        for place in left:
            call = calls[place]
            twice = bool(call.id) and sum(other.id == call.id for other in calls) > 1
            if late:
                self.note(call.name, "late")
                status, out = self.refused(call.name), None
            elif held and not twice:
                self.note(call.name, "held")
                status, out = "held", None
            else:
                status, out = self.judge(call, twice=twice, may_hold=can_wait and ahead, started=started)
            held, ahead = held or status == "held", ahead or out is not None
            decided.append((status, out))
        return decided

    def judge(self, call: ToolCall, *, twice: bool, may_hold: bool, started: bool) -> tuple[str, Call | None]:
        tool, arguments = call.name, dict(call.arguments)
        if self.stopped:
            self.note(tool, "stopped")
            return "refused", None
        if self.desk.is_stuck(self.now):
            self.note(tool, "stopped")
            return "review", None
        if twice:
            self.note(tool, "same id")
            return self.refused(tool), None
        known = self.known(call, started=started)
        if known is not None:
            self.note(tool, "known id")
            return known
        if call.id and any((each.ticket, each.tool) == (call.id, tool) for each in self.account.out):
            self.note(tool, "tried again")
        needs = self.account.needs(tool, arguments)
        if needs == ():
            return self.goes_out(call, arguments, (), started=started)
        if may_hold:
            self.note(tool, "held")
            return "held", None
        changed = self.desk.instead(tool, arguments, self.now)
        needs = needs if changed is None else self.account.needs(tool, changed.other)
        if needs is None:
            self.note(tool, "rests on" if self.account.out else "refused")
            return self.refused(tool, for_now=bool(self.account.out)), None
        return self.by_approval(call, changed, needs, started=started)

    def by_approval(
        self, call: ToolCall, changed: Question | None, gates: tuple[str, ...], *, started: bool
    ) -> tuple[str, Call | None]:
        tool = call.name
        arguments = dict(call.arguments) if changed is None else changed.other
        said = self.desk.answer(tool, arguments, gates, self.now, changed)
        if said.denied:
            self.note(tool, "denied")
            return self.refused(tool), None
        if not said.lacking and len(said.granted) >= len(gates):
            self.note(tool, "approved" if arguments == call.arguments else "modified")
            return self.goes_out(call, arguments, said.granted, started=started)
        expired = any(
            each.state == "allowed" and each.is_over(self.now) and each.good_for == action(tool, arguments)
            for each in self.desk.questions.values()
        )
        for place, gate in enumerate(said.lacking):
            if not self.desk.has_room(self.now, len(said.lacking) - place):
                self.note(tool, "nobody left to ask")
                return self.refused(tool, for_now=True), None
            self.ask(tool, arguments, gate, None)
        if (tool, dict(call.arguments)) not in self.asked_for:
            self.asked_for = [*self.asked_for[-3:], (tool, dict(call.arguments))]
        self.note(tool, "expired" if expired else "asked" if said.lacking else "waits")
        return "review", None

    def ask(self, tool: str, arguments: dict, gate: str | None, about: str | None) -> None:
        self.numbered += 1
        expires = None if gate is None or self.lasts is None else self.now + self.lasts
        in_use = {number for call in self.account.out for number in call.questions}
        self.desk.add(Question(self.numbered, tool, arguments, gate, about, expires), self.now, in_use)

    def refused(self, tool: str, *, for_now: bool = False) -> str:
        self.patience.refused(tool, for_now=for_now)
        return "refused"

    def known(self, call: ToolCall, *, started: bool) -> tuple[str, Call | None] | None:
        """The answer to a call whose id was seen before."""
        if not call.id:
            return None
        said = action(call.name, dict(call.arguments))
        out = next((each for each in self.account.out if each.ticket == call.id and not each.lost), None)
        if out is not None:
            if out.action != said or out.started:
                return "refused", None
            out.started = started
            return "admitted", out
        return ("refused", None) if call.id in self.ran else None

    def goes_out(
        self, call: ToolCall, arguments: dict, questions: tuple[int, ...], *, started: bool
    ) -> tuple[str, Call | None]:
        lost = next((each for each in self.account.out if call.id and each.ticket == call.id), None)
        if lost is not None:
            self.numbered += 1
            renamed = f"{lost.ticket}#{self.numbered}"
            for each in self.desk.questions.values():
                each.about = renamed if each.about == lost.ticket else each.about
            lost.ticket = renamed
        ticket = call.id
        while not ticket or any(each.ticket == ticket for each in self.account.out):
            self.numbered += 1
            ticket = f"#{self.numbered}"
        said = action(call.name, dict(call.arguments)) if call.id else ""
        out = Call(call.name, arguments, ticket, 0, said, questions, started)
        self.desk.mark(questions, "used")
        self.account.goes_out(out)
        self.patience.accepted(call.name)
        self.note(call.name, "admitted")
        if (call.name, dict(call.arguments)) in self.asked_for:
            self.asked_for.remove((call.name, dict(call.arguments)))
        return "admitted", out

    # -- what becomes of calls -----------------------------------------------------------------------------------------

    def came_back(self, call: Call, how: str, result: dict) -> bool:
        """A tool has come back in one of the ways; whether the model gets a result."""
        if how == "returns":
            self.note(call.tool, "returned")
            return self.has_happened(call, result)
        if how == "not done":
            self.note(call.tool, "not done")
            self.take_back(call)
            return False
        if how == "is interrupted":
            self.note(call.tool, "interrupted")
        self.fails(call)
        return False

    def fails(self, call: Call) -> bool:
        """A call has failed; what that means stands in the contract."""
        meaning = self.account.tools[call.tool]
        if meaning == "undone":
            self.note(call.tool, "undone")
            self.take_back(call)
            return True
        if meaning == "done":
            self.note(call.tool, "done")
            return self.has_happened(call, {"error": "it failed"}, again=True)
        self.note(call.tool, "lost")
        call.lost = call.started = True
        self.account.late(self.now)
        if self.asks_people and self.desk.has_room(self.now):
            self.ask(call.tool, call.arguments, None, call.ticket)
        return True

    def take_back(self, call: Call) -> None:
        self.ended = [*self.ended[-5:], call.ticket]
        self.account.taken_back(call)
        self.desk.mark(call.questions, "allowed")
        self.desk.known(call.ticket)
        self.account.late(self.now)

    def has_happened(self, call: Call, result: dict, *, again: bool = False) -> bool:
        self.ended = [*self.ended[-5:], call.ticket]
        if call.action and not again and call.ticket not in self.ran:
            self.ran[call.ticket] = call.action
            while len(self.ran) > REMEMBERED:
                del self.ran[next(iter(self.ran))]
        self.desk.known(call.ticket)
        fit = self.account.has_happened(call, result)
        self.account.late(self.now)
        if not fit:
            self.note(call.tool, "unfit result")
        return fit

    def end(self, call: Call) -> None:
        """A call that was reserved comes back, or somebody who knows says what became of one that is lost."""
        rng, ticket, lost = self.rng, call.ticket, call.lost
        if not call.started and rng.random() < 0.7:
            self.start(call)
            return
        how = rng.choices(("settle", "fail", "keep"), (6, 3, 1))[0]
        result = self.account.result(rng, call)
        acts = {
            "settle": lambda guard: isinstance(guard.settle(ticket, result), Ok),
            "fail": lambda guard: isinstance(guard.fail(ticket, "it has not" if lost else TimeoutError()), Ok),
            "keep": lambda guard: isinstance(guard.keep(ticket, "it has happened"), Ok),
        }
        if how == "fail" and not lost:
            expected = self.fails(call)
        elif how == "fail":
            self.note(call.tool, "not found")
            self.take_back(call)
            expected = True
        else:
            self.note(call.tool, "found" if lost else "kept" if how == "keep" else "returned")
            expected = self.has_happened(call, result if how == "settle" else {"error": "it has happened"})
        answer, _ = self.both(acts[how])
        if answer != expected:
            raise DifferenceError(f"{how} of {call} with {result}: {answer}, expected {expected}")

    def start(self, call: Call) -> None:
        for expected in (not call.started, False):
            answer, _ = self.both(lambda guard: guard.start(call.ticket))
            if answer != expected:
                raise DifferenceError(f"{call} may be started: {answer}")
        call.started = True
        self.note(call.tool, "started")

    def end_twice(self) -> None:
        """What has ended cannot end again, unless another call has got its ticket since."""
        ticket = self.rng.choice(self.ended) if self.ended else "nobody's"
        if any(call.ticket == ticket for call in self.account.out):
            return
        answer, _ = self.both(
            lambda guard: [guard.settle(ticket, {}) == Ok(), guard.fail(ticket, "late") == Ok(), guard.start(ticket)]
        )  # fmt: skip
        if any(answer):
            raise DifferenceError(f"{ticket} has ended twice: {answer}")

    # -- people, words, time -------------------------------------------------------------------------------------------

    def decide(self, question: Question) -> None:
        rng, number, other = self.rng, question.number, None
        if question.about is not None:
            call = next(call for call in self.account.out if call.ticket == question.about)
            if self.stays_lost(call):
                return
            said = rng.choice(("done", "undone"))
            self.note(question.tool, "found" if said == "done" else "not found")
            if said == "done":
                self.has_happened(call, {"error": "ana says so"})
            else:
                self.take_back(call)
            question.state = "used"
        else:
            said = rng.choices(("allow", "deny", "modify"), (6, 2, 2))[0]
            if said == "modify":
                other = self.account.other(rng, question.arguments)
                fits = question.gate is not None and bool(self.account.needs(question.tool, other))
                said, other = ("modify", other) if fits else ("allow", None)
            question.state, question.other = "denied" if said == "deny" else "allowed", other
            if question.gate is None and said == "deny":
                self.stopped = True
            elif question.gate is None:
                self.patience.accepted(question.tool)

        def answer(guard: Guard) -> str:
            (review,) = [review for review in guard.reviews() if review.number == number]
            return guard.decide(review.id, said, by="ana", payload=other).state

        answered, _ = self.both(answer)
        if answered != question.state:
            raise DifferenceError(f"{said} of {question} was {answered}")

    def adopt_stop(self, calls: list[ToolCall]) -> None:
        """An agent that asks for the same again and again is stopped; how soon, `Patience` knows."""
        self.just_stopped = False
        if self.stopped or not self.patience.counts:
            return
        (call,), desk = calls, self.guard._session.state().desk
        asked = [r for r in desk.reviews if (r.gate, r.call, r.state) == (None, None, "open")]
        is_new = bool(asked) and not self.desk.is_stuck(self.now)
        if desk.stopped is None and not is_new:
            if self.patience.must_stop(call.name) and not self.desk.is_stuck(self.now):
                raise DifferenceError(f"`{call.name}` is refused for ever, and nobody is told")
            return
        if not self.patience.may_stop(call.name):
            raise DifferenceError(f"`{call.name}` was refused too seldom to be stopped: {desk.stopped}")
        self.just_stopped = True
        self.note(call.name, "stops")
        if desk.stopped is not None:
            self.stopped = True
        else:
            self.ask(call.name, dict(asked[-1].payload), None, None)

    def has_just_stopped(self, expected: list[str]) -> bool:
        return self.just_stopped and expected == ["refused"]

    def resume(self) -> None:
        self.both(lambda guard: guard.resume(by="ana", reason="go on"))
        self.stopped = False
        self.patience.resumed()
        self.kinds["resumed"] += 1

    def say(self, what: str, payload: dict) -> None:
        if what == "user":
            expected = self.account.said(what, payload)
            answer, _ = self.both(lambda guard: isinstance(guard.user_says(payload["text"]), Ok))
        else:
            expected = not self.account.late(self.now) and self.account.said(what, payload)
            answer, _ = self.both(lambda guard: isinstance(guard.receive(what, payload), Ok))
        self.kinds["said"] += 1
        if answer != expected:
            raise DifferenceError(f"{what} {payload}: {answer}, expected {expected}")

    def tick(self) -> None:
        late = self.account.late(self.now)
        answer, _ = self.both(lambda guard: isinstance(guard.tick(), Ok))
        if answer == late:
            raise DifferenceError(f"at {self.now}: {answer}")

    def again(self) -> None:
        """The process ends, and another goes on; or a copy is made, which must go on as the session does."""
        if self.copy is None and self.rng.random() < 0.5:
            self.copy, self.copied = revived(self.guard, self.open(kept=False)), self.steps
            self.kinds["copied"] += 1
            return
        self.guard = self.open() if self.store is not None else revived(self.guard, self.open())
        self.kinds["opened again"] += 1

    # -- comparing -----------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """What the guard knows is what the account says."""
        state = self.guard._session.state()
        out = [(call.ticket, call.lost is not None) for call in state.calls.log if hasattr(call, "ticket")]
        if out != (expected := [(call.ticket, call.lost) for call in self.account.out]):
            raise DifferenceError(f"out are {out}, expected {expected}")
        desk = state.desk
        if desk.numbered != self.numbered or (desk.stopped is not None) != self.stopped:
            raise DifferenceError(f"{desk.numbered} and {desk.stopped}, expected {self.numbered}, {self.stopped}")
        if self.steps % ALL_AT_ONCE == 0:
            asked = [(r.number, r.gate, r.name, dict(r.payload), r.call, r.state, r.modified) for r in desk.reviews]
            known = [
                (q.number, q.gate, q.tool, q.arguments, q.about, q.state, q.other) for q in self.desk.questions.values()
            ]
            if asked != known:
                raise DifferenceError(f"asked was {asked}, expected {known}")
            if [done.ticket for done in desk.done] != list(self.ran):
                raise DifferenceError(f"remembered are {desk.done}, expected {self.ran}")
        if self.copy is not None and self.steps - self.copied >= BOTH:
            self.copy = None
