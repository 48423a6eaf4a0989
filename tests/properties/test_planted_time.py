"""Bugs planted in the machine where it deals with time and slices: a campaign must find each of them."""

from __future__ import annotations

from random import Random

import pytest

from accord.diagnostics import Source
from accord.language import examine
from accord.limits import DEFAULT_LIMITS
from accord.machine import clocks, dues, extent, rule_forms, rulebook, rules, slices, standing, tables, taking
from accord.machine.slices import NO_KEY, NoKey
from accord.machine.tables import Fork
from accord.monitor import extents, snapshot, wide
from tests.properties.differential_time import Health, Product, campaign, compare

pytestmark = pytest.mark.usefixtures("crashes_are_no_evidence")


# -- deadlines of protocols --------------------------------------------------------------------------------------------


def late_at_the_moment_it_is_due(monkeypatch):
    original = taking.wait
    nearly = 1e-6
    monkeypatch.setattr(extent, "wait", lambda place, held, at: original(place, held, at + nearly))


def a_late_event_is_judged_before_the_deadline_passes(monkeypatch):
    """As if nothing had been late, unless it is the time of a tick."""
    original = wide.step

    def step(situation, event, mode, position):
        held = situation.holding
        late = held.now is not None and event.at is not None and event.at > held.now
        here = situation._replace(holding=held._replace(now=event.at)) if late else situation
        return original(here, event, mode, position)

    def pass_time(stage, held, at, original=wide.pass_time):
        return (stage, held, []) if held.now == at else original(stage, held, at)

    monkeypatch.setattr("accord.monitor.wide.pass_time", pass_time)
    monkeypatch.setattr(wide, "step", step)


def a_deadline_behind_a_deadline_counts_from_when_somebody_looked(monkeypatch):
    looked = []
    original_wait, original_late = taking.wait, clocks.late

    def wait(place, held, at):
        looked.append(at)
        return original_wait(place, held, at)

    def late(machine, configuration, due):
        found = original_late(machine, configuration, due)
        late_by = looked[-1] - due
        return [(c[0], (), c[2] + late_by) if len(c) == 3 and not c[1] and c != configuration else c for c in found]

    monkeypatch.setattr(extent, "wait", wait)
    monkeypatch.setattr(taking, "late", late)


def clocks_do_not_restart_in_loops(monkeypatch):
    """A session that comes back to the state it was in has as much time as was left."""
    original = clocks.moves

    def moves(machine, configuration, at, wanted=None, origin=()):
        for symbol, afters, inside in original(machine, configuration, at, wanted, origin):
            waits = len(configuration) == 3 and not configuration[1]
            again = [waits and len(after) == 3 and after[0] == configuration[0] for after in afters]
            yield symbol, [configuration if same else a for a, same in zip(afters, again, strict=True)], inside

    monkeypatch.setattr(clocks, "moves", moves)


def what_follows_an_interleaving_is_timed_from_its_beginning(monkeypatch):
    """The clock of the join starts a second early."""
    original = clocks._go_on

    def go_on(machine, join, ways, at):
        return original(machine, join, ways, at - 1)

    monkeypatch.setattr(clocks, "_go_on", go_on)


def only_one_part_is_late_at_a_time(monkeypatch):
    original = clocks.late

    def late(machine, configuration, due):
        if len(configuration) != 2:
            return original(machine, configuration, due)
        join, parts = configuration
        moved = next((i for i, part in enumerate(parts) if due in clocks.dues(machine, part)), None)
        if moved is None:
            return [configuration]
        return [
            found
            for after in original(machine, parts[moved], due)
            for found in clocks._go_on(machine, join, [[*parts[:moved], *parts[moved + 1 :], after]], due)
        ]

    def once(place, held, at):
        due = place.next_due if isinstance(place, standing.TimedStanding) else None
        if due is None or due >= at:
            return place, held
        reached = {(a, r) for c, r in taking._pairs(place, held) for a in late(place.standings.machine, c, due)}
        taken = taking._taken(place.standings, reached)
        return taken.standing, taken.holding

    monkeypatch.setattr(extent, "wait", once)


def a_pause_at_the_head_of_a_loop_is_forgotten(monkeypatch):
    original = clocks._beside
    monkeypatch.setattr(clocks, "_beside", lambda machine, join, ways, **_: original(machine, join, ways))


def an_interleaving_that_may_be_over_is_over(monkeypatch):
    original = clocks._beside

    def beside(machine, join, ways, head=None):
        found, over = original(machine, join, ways, head)
        return ([] if over else found), over

    monkeypatch.setattr(clocks, "_beside", beside)


def the_due_time_of_parts_is_not_seen(monkeypatch):
    original = clocks.dues
    monkeypatch.setattr(
        clocks,
        "dues",
        lambda machine, c: iter(()) if len(c) == 3 and isinstance(machine.states[c[0]], Fork) else original(machine, c),
    )


def a_session_begins_at_nought(monkeypatch):
    original = extent.begin
    monkeypatch.setattr(extent, "begin", lambda stages, at: (original(stages, 0)[0], original(stages, at)[1]))


# -- deadlines of rules ------------------------------------------------------------------------------------------------


def rules_are_late_at_the_moment_they_are_due(monkeypatch):
    original = rulebook.RuleBook.late
    monkeypatch.setattr(rulebook.RuleBook, "late", lambda self, nodes, at: original(self, nodes, at + 1e-6))


def what_was_late_stays_open(monkeypatch):
    monkeypatch.setattr(rule_forms._WithinForm, "late", lambda _self, state: state)


def the_time_is_that_of_the_latest_trigger(monkeypatch):
    original = rule_forms._WithinForm.step

    def step(self, state, direction, outcomes, at):
        after = original(self, state, direction, outcomes, at)
        if after is not None and outcomes[self.trigger] and after.due is not None:
            return after._replace(due=at + self.milliseconds / 1000)
        return after

    monkeypatch.setattr(rule_forms._WithinForm, "step", step)


def a_message_cannot_settle_and_open(monkeypatch):
    original = rule_forms._WithinForm.step

    def step(self, state, direction, outcomes, at):
        after = original(self, state, direction, outcomes, at)
        settled = state.due is not None and self.holds(self.machine.counted(state, outcomes))
        return after._replace(due=None, counts=self.none) if after is not None and settled else after

    monkeypatch.setattr(rule_forms._WithinForm, "step", step)


def nothing_is_owed_at_closing(monkeypatch):
    monkeypatch.setattr(rule_forms._WithinForm, "owes", lambda _self, _state: False)


def the_last_rule_that_is_late_is_named(monkeypatch):
    original = wide.pass_time

    def pass_time(stage, held, at):
        after, extent_, missed = original(stage, held, at)
        return after, extent_, missed[::-1]

    monkeypatch.setattr(wide, "pass_time", pass_time)


# -- slices ------------------------------------------------------------------------------------------------------------


def finished_instances_are_forgotten(monkeypatch):
    original = slices.SlicedProtocol.moved

    def with_(self, course, key, taken):
        after = original(self, course, key, taken)
        if taken.standing.symbols or slices._due((taken.standing, ())) is not None:
            return after
        return after._replace(instances=after.instances.delete(key))

    monkeypatch.setattr(slices.SlicedProtocol, "moved", with_)


def instances_are_forgotten_where_nothing_is_owed(monkeypatch):
    original = slices.SlicedRule.moved

    def with_(self, held, key, before, after):
        return original(self, held, key, before, after if after.owes else self.machine.start)

    monkeypatch.setattr(slices.SlicedRule, "moved", with_)


def what_was_called_is_known_to_nobody(monkeypatch):
    monkeypatch.setattr(
        rules.RuleMachine, "applies", lambda _self, _called, pattern, direction: pattern.direction in {None, direction}
    )


def what_was_called_is_known_to_its_instance_only(monkeypatch):
    original, called = slices.SlicedRule.react, {}

    def react(self, held, event):
        key = slices.key_of(self.path, event.direction, event.payload)
        mine = held if isinstance(key, NoKey) else held._replace(called=called.get((self, held.instances, key), 0))
        after = original(self, mine, event)
        if isinstance(after, slices.RuleSlice) and not isinstance(key, NoKey):
            called[self, after.instances, key] = after.called
        return after

    monkeypatch.setattr(slices.SlicedRule, "react", react)


def adjacency_is_over_with_the_event_of_another_instance(monkeypatch):
    original = slices.SlicedRule.react

    def react(self, held, event):
        after = original(self, held, event)
        if not isinstance(after, slices.RuleSlice):
            return after
        key, nothing = slices.key_of(self.path, event.direction, event.payload), (False,) * len(self.machine.patterns)
        for other, node in after.instances.items():
            if other != key and node.armed(event.direction):
                moved = self.machine.advance(node, event.direction, "", nothing)
                after = self.moved(after, other, node, moved)
        return after

    monkeypatch.setattr(slices.SlicedRule, "react", react)


def adjacency_survives_events_that_the_rule_does_not_name(monkeypatch):
    monkeypatch.setattr(rules.RuleNode, "armed", lambda _self, _direction: False)


def owing_instances_are_counted_once(monkeypatch):
    original = slices.SlicedRule.moved

    def with_(self, held, key, before, after):
        found = original(self, held, key, before, after)
        return found._replace(owing=min(found.owing, 1)) if isinstance(found, slices.RuleSlice) else found

    monkeypatch.setattr(slices.SlicedRule, "moved", with_)


def unfinished_instances_are_not_counted(monkeypatch):
    original = slices.SlicedProtocol.moved
    monkeypatch.setattr(slices.SlicedProtocol, "moved", lambda self, *rest: original(self, *rest)._replace(owing=0))


def the_key_of_the_call_is_not_looked_for(monkeypatch):
    original = slices.key_of
    for module in (slices, wide):
        monkeypatch.setattr(module, "key_of", lambda path, _direction, payload: original(path, "!", payload))


def sends_have_the_key_of_the_call_too(monkeypatch):
    original = slices.key_of
    for module in (slices, wide):
        monkeypatch.setattr(module, "key_of", lambda path, _direction, payload: original(path, "?", payload))


def true_is_one(monkeypatch):
    original = slices.freeze
    monkeypatch.setattr(slices, "freeze", lambda value: int(value) if isinstance(value, bool) else original(value))


def lists_with_nan_are_keys(monkeypatch):
    monkeypatch.setattr(slices, "is_key", lambda key: isinstance(key, tuple) or key == key)  # noqa: PLR0124


def rules_let_events_without_a_key_pass(monkeypatch):
    original = slices.SlicedRule.react

    def react(self, held, event):
        key = slices.key_of(self.path, event.direction, event.payload)
        return held if isinstance(key, NoKey) else original(self, held, event)

    monkeypatch.setattr(slices.SlicedRule, "react", react)


def protocols_look_at_labels_they_do_not_name(monkeypatch):
    monkeypatch.setattr(tables.Machine, "passes", lambda *_: False)


def sliced_protocols_let_pass_what_they_do_not_name(monkeypatch):
    """As they once did."""

    def passes(self, direction, label, original=tables.Machine.passes):
        return original(self, direction, label) or (self.each is not None and label not in self.labels)

    monkeypatch.setattr(tables.Machine, "passes", passes)


def allowed_are_only_the_words_of_a_new_instance(monkeypatch):
    original = slices.SlicedProtocol.symbols

    def symbols(self, course, key=NO_KEY):
        return original(self, self.start if isinstance(key, NoKey) else course, key)

    monkeypatch.setattr(slices.SlicedProtocol, "symbols", symbols)


# -- both --------------------------------------------------------------------------------------------------------------


def an_instance_begins_with_the_session(monkeypatch):
    original = slices.SlicedProtocol.instance
    monkeypatch.setattr(
        slices.SlicedProtocol, "instance", lambda self, course, key, _at: original(self, course, key, 0)
    )


def the_queue_drops_every_third_entry(monkeypatch):
    original = dues.Dues.with_due

    def with_due(self, due, key):
        return self if self.size % 3 == 2 else original(self, due, key)

    monkeypatch.setattr(dues.Dues, "with_due", with_due)


def the_queue_gives_the_latest_first(monkeypatch):
    original = dues.Dues.with_due
    monkeypatch.setattr(dues.Dues, "with_due", lambda self, due, key: original(self, due + 0.25, key))


def only_one_instance_is_late_at_a_time(monkeypatch):
    original = slices.SlicedRule.late

    def late(self, held, at):
        first = self.next_due(held)
        return original(self, held, at if first is None else min(at, first + 1e-6))

    monkeypatch.setattr(slices.SlicedRule, "late", late)


def stale_entries_count(monkeypatch):
    monkeypatch.setattr(slices, "_is_due", lambda instances, _due, key: key in instances)


# -- snapshots ---------------------------------------------------------------------------------------------------------


def changed_extent(monkeypatch, change):
    original = snapshot.extent_from_json
    monkeypatch.setattr(snapshot, "extent_from_json", lambda *args: change(original(*args)))
    monkeypatch.setattr(snapshot, "check_extent", lambda *_: None)


def snapshots_forget_the_time(monkeypatch):
    changed_extent(monkeypatch, lambda held: held._replace(now=None))


def snapshots_forget_what_is_due(monkeypatch):
    changed_extent(
        monkeypatch, lambda held: held._replace(slices=tuple(s._replace(dues=dues.NOTHING_DUE) for s in held.slices))
    )


def snapshots_forget_what_was_called(monkeypatch):
    changed_extent(monkeypatch, lambda held: held._replace(slices=tuple(s._replace(called=0) for s in held.slices)))


def snapshots_forget_what_is_owed(monkeypatch):
    changed_extent(monkeypatch, lambda held: held._replace(slices=tuple(s._replace(owing=0) for s in held.slices)))


def snapshots_forget_finished_instances(monkeypatch):
    original = extents._course

    def course(value, sliced):
        return sliced.course_of(
            slices.Map({k: i for k, i in original(value, sliced).instances.items() if i[0].symbols})
        )

    monkeypatch.setattr(extents, "_course", course)


def deadlines_start_anew_after_a_rest(monkeypatch):
    def change(held):
        def later(node):
            due = node.state.due
            return node if due is None else node.machine.node(node.state._replace(due=due + 0.5))

        moved = (s._replace(instances=slices.Map({k: later(n) for k, n in s.instances.items()})) for s in held.slices)
        return held._replace(slices=tuple(moved))

    changed_extent(monkeypatch, change)


CASES = {
    "time": [
        late_at_the_moment_it_is_due,
        a_late_event_is_judged_before_the_deadline_passes,
        a_deadline_behind_a_deadline_counts_from_when_somebody_looked,
        clocks_do_not_restart_in_loops,
        what_follows_an_interleaving_is_timed_from_its_beginning,
        only_one_part_is_late_at_a_time,
        a_pause_at_the_head_of_a_loop_is_forgotten,
        an_interleaving_that_may_be_over_is_over,
        the_due_time_of_parts_is_not_seen,
        a_session_begins_at_nought,
        rules_are_late_at_the_moment_they_are_due,
        what_was_late_stays_open,
        the_time_is_that_of_the_latest_trigger,
        a_message_cannot_settle_and_open,
        nothing_is_owed_at_closing,
        the_last_rule_that_is_late_is_named,
        snapshots_forget_the_time,
    ],
    "slices": [
        finished_instances_are_forgotten,
        instances_are_forgotten_where_nothing_is_owed,
        what_was_called_is_known_to_nobody,
        what_was_called_is_known_to_its_instance_only,
        unfinished_instances_are_not_counted,
        the_key_of_the_call_is_not_looked_for,
        sends_have_the_key_of_the_call_too,
        true_is_one,
        lists_with_nan_are_keys,
        rules_let_events_without_a_key_pass,
        protocols_look_at_labels_they_do_not_name,
        sliced_protocols_let_pass_what_they_do_not_name,
        allowed_are_only_the_words_of_a_new_instance,
        snapshots_forget_what_was_called,
        snapshots_forget_what_is_owed,
        snapshots_forget_finished_instances,
    ],
    "slices time": [
        an_instance_begins_with_the_session,
        the_queue_drops_every_third_entry,
        the_queue_gives_the_latest_first,
        only_one_instance_is_late_at_a_time,
        stale_entries_count,
        snapshots_forget_what_is_due,
        deadlines_start_anew_after_a_rest,
    ],
}


@pytest.mark.parametrize(("flavour", "plant"), [(flavour, plant) for flavour in CASES for plant in CASES[flavour]])
def test_planted_bug_in_the_machine_is_caught(flavour, plant, monkeypatch):
    plant(monkeypatch)
    seen, difference = campaign(23, 20_000, Product(), flavour)
    assert difference is not None, seen.sentence()


# What random contracts seldom meet, on a contract that is made for it.

FOCUSED = [
    (owing_instances_are_counted_once, 'rule "r" { each k: after each a require b }'),
    (adjacency_is_over_with_the_event_of_another_instance, 'rule "r" { each k: forbid !a then !b }'),
    (adjacency_survives_events_that_the_rule_does_not_name, 'rule "r" { each k: forbid !a then !b }'),
    (clocks_do_not_restart_in_loops, "rec L.!a within 2s else end.L"),
    (what_follows_an_interleaving_is_timed_from_its_beginning, "(!a | !b).!c within 2s else end"),
]


@pytest.mark.parametrize(("plant", "text"), FOCUSED)
def test_planted_bug_is_caught_on_a_contract_made_for_it(plant, text, monkeypatch):
    document = examine(Source(text), DEFAULT_LIMITS)[0]
    random_, health = Random(29), Health("focused")
    assert all(compare(document, random_, health, Product()) is None for _ in range(500))
    plant(monkeypatch)
    assert any(compare(document, random_, health, Product()) is not None for _ in range(5_000)), health.sentence()
