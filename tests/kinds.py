"""What kind a test is of: the folder that it stands in says it. Each kind is a marker: `pytest -m fuzz`.

`make quick` (`pytest -m quick`) runs the kinds that a change needs at once, `QUICK`, in less than a minute on two quiet
cores. It leaves out the long checks, whose files stand in `tests/soaking.py`, and what is `SLOW`. `make test` shows its
slowest tests: one of these kinds that is among them belongs into that list.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soaking import LONG

TESTS = Path(__file__).parent

KINDS = {
    "unit": "one part of accord at a time",
    "spec": "what contracts mean, and what lint finds, case by case in Markdown",
    "golden": "what people see, to the letter",
    "architecture": "the shape of the code",
    "agents": "LangChain agents with scripted models and real checkpoints",
    "audit": "recorded runs, audited in every way",
    "browser": "pages in a real browser",
    "distribution": "the files of a release, built and installed",
    "docs": "the documents are true",
    "examples": "the programs in `examples`, as people run them",
    "faults": "threads, interrupts, killed writers, full disks",
    "fuzz": "any text, any file, any request",
    "kept": "what earlier versions have written",
    "lives": "sessions of thousands of steps",
    "mutants": "the search for mistakes that no test finds",
    "plugins": "the plug-ins for coding agents",
    "properties": "random protocols and traces, held against the reference",
    "sources": "recorded runs of others",
    "stores": "sessions at rest, in real stores",
    "studio": "the studio behind its page",
    "surfaces": "everything that judges agents says the same",
}
"""The folders of tests, each a kind, and what is looked at there."""

QUICK = frozenset({"unit", "spec", "golden", "architecture"})

SLOW = frozenset(
    {
        "spec/agents/test_planted.py::test_the_corpus_shows_a_planted_bug",
        "spec/test_choreography.py::test_refusals",
        "spec/test_origins.py::test_langfuse",
        "spec/test_spec.py::test_a_long_trace_is_replayed_in_the_studio",
        "spec/test_spec.py::test_facts[peers:",  # texts and runs as long as anything that is admitted
        "spec/test_spec.py::test_trace[peers:",
        "unit/agents/runtime/test_supervising.py::test_a_crash_in_a_branch_of_its_own",
        "unit/agents/runtime/test_supervising.py::test_no_posted_message_is_lost_and_no_partner_is_stuck_whatever_crashes",
        "unit/agents/runtime/test_trees.py::test_conversations_between_branches_end_when_one_gives_up_and_new_ones_begin",
        "unit/agents/runtime/test_violations.py::test_who_plays_the_other_roles_is_said_when_a_conversation_is_opened",
        "unit/choreography/test_choreography.py::test_what_is_done_counts",
        "unit/cli/test_main.py::test_an_output_that_lacks_characters",
        "unit/cli/test_main.py::test_colour_on_a_terminal_only",
        "unit/cli/test_review.py::test_asking",
        "unit/cli/test_review.py::test_many_decide_at_once",
        "unit/cli/test_review.py::test_no_payload_poses_as_a_line_of_ours",
        "unit/cli/test_verify.py::test_a_long_verification_shows_how_far_it_is",
        "unit/integrations/guard/test_hostile.py::test_endless_arguments_are_refused",
        "unit/integrations/guard/test_ways.py::test_however_many_people_a_call_needs_they_are_asked",
        "unit/integrations/test_excerpt.py::test_every_value_has_an_excerpt_that_can_be_sent",
        "unit/integrations/test_langfuse.py::test_a_server_that_answers_with_errors",
        "unit/integrations/test_langfuse.py::test_a_server_that_is_not_there",
        "unit/integrations/test_langfuse.py::test_without_a_client_it_takes_the_only_one_there_is",
        "unit/language/test_deadlines.py::test_depth_costs_no_recursion",
        "unit/language/test_details.py::test_random_documents_come_back",
        "unit/language/test_details.py::test_the_checks_take_random_documents_without_a_crash",
        "unit/language/test_interchange.py::test_damage_of_every_kind_is_refused_or_still_a_contract",
        "unit/language/test_parser.py::test_deep_trees_can_be_compared_hashed_and_shown",
        "unit/language/test_parser.py::test_floods_are_refused_with_few_findings",
        "unit/language/test_parser.py::test_no_damage_to_a_good_text_makes_the_compiler_fail",
        "unit/language/test_registers.py::test_what_some_way_binds_is_never_reported",
        "unit/ledger/test_entries.py::test_the_cheap_check_of_floats_is_the_canonical_form",
        "unit/ledger/test_represent.py::test_values_without_end_are_left_out",
        "unit/monitor/test_long_sessions.py::test_memory_does_not_grow_with_history",
        "unit/monitor/test_snapshot_data.py::test_a_snapshot_of_several_possibilities_is_the_same_in_every_process",
        "unit/session/test_session.py::test_threads_take_turns",
        "unit/sources/test_files.py::test_of_a_file_that_is_cut_off_the_runs_before_the_cut_are_read",
        "unit/stepping/test_events.py::test_an_endless_event_is_refused",
        "unit/stepping/test_events.py::test_an_endless_line_is_not_kept",
        "unit/trace/test_pytest_plugin.py::test_snapshots",
        "unit/trace/test_validation.py::test_forbidden_sequences_are_found_as_the_obvious_way_finds_them",
        "unit/trace/test_validation.py::test_so_many_ids_are_remembered_and_the_rest_forgotten",
        "unit/trace/test_validation.py::test_the_quick_way_through_a_call_and_its_result_is_the_long_way",
        "unit/trace/test_validation.py::test_violations_without_number_take_little_memory",
    }
)
"""What takes most of a second or longer and waits for `make test`; where need be, up to a colon in the parameters."""


class NoKindError(pytest.UsageError):
    """A test that stands in no folder of `KINDS`."""


def kind_of(path: Path) -> str:
    """The kind of the tests in a file."""
    folder = path.relative_to(TESTS).parts[0]
    if folder not in KINDS:
        raise NoKindError(f"{path}: the folder `{folder}` is of no kind; say in tests/kinds.py what its tests look at")
    return folder


def markers_of(path: Path, name: str) -> list[str]:
    """The markers that a test has because of where it stands."""
    kind = kind_of(path)
    function, _, parameters = name.partition("[")
    place = f"{path.relative_to(TESTS).as_posix()}::{function}"
    is_slow = path in LONG or place in SLOW or f"{place}[{parameters.partition(':')[0]}:" in SLOW
    return [kind] if kind not in QUICK or is_slow else [kind, "quick"]
