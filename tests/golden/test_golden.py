"""The command line's output, compared with files that people have read.

A case is a file `expected/NAME.txt`: its first line is the command, then comes what it printed, then its exit status.
Commands run in this folder, so the contracts are `contracts/….accord`, and `ledgers` holds what somebody did to the
ledger of an example. `env:STORE` is a store in which people are asked, made anew for each case. After a change that is
meant to change the output, write the files anew and read the difference before it is committed:

    ACCORD_UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden && git diff tests/golden
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.reviews import BEGAN, HOUR, ODD_KEY, fill

from accord.cli.app import app

HERE = Path(__file__).parent

PAYMENT = "../../examples/payment/payment.accord"
LEDGER = "../../examples/payment/payment.ledger"
TAMPERED = "../../examples/payment/tampered.ledger"
HEAD = "6:d31406d98ac3f2be97c65149edb2fb6a3949b5641068ef7cf6fca9066ed7191f"
QUOTE = """!AskQuote ?Quote {"total": 250, "currency": "EUR"}"""
PAY = """!Pay {"amount": 250, "currency": "EUR"}"""

SUPPORT = "../../examples/support/support.accord"
TICKET = """'@0 ?Opened {"ticket_id": "t-1"} @600 !AskRefund {"ticket_id": "t-1", "amount": 40}'"""

TRACES = "../../examples/traces"

PAYMENTS = "../../examples/recorded_payments"
CONFIRM = "../../examples/confirm_before_mutate"
BOOKING = "../../examples/booking/booking.accord"

TRAVEL = "../../examples/travel_team/travel.accord"

AT = f"--at {BEGAN + HOUR}"

CASES = {
    "audit": f"audit {PAYMENTS}/payments.accord {PAYMENTS}/runs.jsonl --by model --no-cache",
    "check": "check contracts",
    "check_json": "check contracts/many_errors.accord --format json",
    "check_sarif": "check contracts/many_errors.accord --format sarif",
    "check_github": "check contracts/many_errors.accord --format github",
    "check_fine": "check contracts/orders.accord contracts/ask.accord contracts/house_rules.accord",
    "events": f"events {CONFIRM}/strict.accord {CONFIRM}/runs.jsonl --run two-at-once",
    "events_json": f"events {CONFIRM}/loose.accord {CONFIRM}/runs.jsonl --json",
    "events_by_name": f"events {BOOKING} {CONFIRM}/runs.jsonl --run hasty",
    "events_hostile": "events contracts/events.accord runs/hostile.jsonl",
    "events_no_run": f"events {CONFIRM}/loose.accord {CONFIRM}/runs.jsonl --run hsaty",
    "explain": "explain",
    "explain_e036": "explain E036",
    "check_roles": "check contracts/quarrel.txt",
    "project": f"project {TRAVEL} --role Agent",
    "project_nobody": f"project {TRAVEL} --role Agnet",
    "show_roles": f"show {TRAVEL}",
    "show_roles_mermaid": f"show {TRAVEL} --format mermaid",
    "show_roles_dot": f"show {TRAVEL} --format dot",
    "show_roles_json": f"show {TRAVEL} --format json",
    "explain_w059": "explain W059",
    "explain_e023": "explain E023",
    "explain_e029": "explain E029",
    "explain_e042": "explain E042",
    "explain_w051": "explain W051",
    "fmt_check": "fmt --check contracts/orders.accord contracts/ask.accord contracts/house_rules.accord",
    "ledger_show": f"ledger show {LEDGER}",
    "ledger_show_json": f"ledger show {LEDGER} --session order-17 --from 3 --json",
    "ledger_show_odd": "ledger show ledgers/odd.ledger",
    "ledger_show_tampered": f"ledger show {TAMPERED} --from 2",
    "ledger_show_torn": "ledger show ledgers/torn.ledger --from 5",
    "replay": "replay contracts/ask.accord '!Ask !Sorry ?No !Sorry end'",
    "replay_refuse": "replay contracts/ask.accord --mode refuse '!Sory !Ask !Sorry ?Unrecognized ?No end !Sorry'",
    "replay_json": "replay contracts/ask.accord --json '!Ask !Sorry ?No'",
    "replay_parts": "replay contracts/orders.accord --protocol Order "
    """'!"show [red]cart[/red]" ?pay !log Bank!charge !log !log end'""",
    "replay_data": f"replay {PAYMENT} --mode refuse '{QUOTE} {PAY}' '!AskApproval ?Approval ?Approval by ana' '{PAY}'",
    "replay_data_json": f"replay {PAYMENT} --json '{QUOTE} {PAY}'",
    "replay_rules": "replay contracts/house_rules.accord --mode refuse "
    """'!Delete !Commit !Look !Commit !Pay {"amount": 500} !Pay {} ?Approval by "Ana B." !Pay {"amount": 500} !Ask'""",
    "show_text": "show contracts/orders.accord",
    "show_dot": "show contracts/orders.accord --format dot",
    "show_mermaid": "show contracts/orders.accord --format mermaid",
    "show_json": "show contracts/orders.accord --format json",
    "show_data": f"show {PAYMENT}",
    "show_data_dot": f"show {PAYMENT} --format dot",
    "show_data_mermaid": f"show {PAYMENT} --format mermaid",
    "show_data_json": f"show {PAYMENT} --format json",
    "show_rules": "show contracts/house_rules.accord",
    "show_rules_dot": "show contracts/house_rules.accord --format dot",
    "show_rules_mermaid": "show contracts/house_rules.accord --format mermaid",
    "show_rules_json": "show contracts/house_rules.accord --format json",
    "step": "step contracts/ask.accord",
    "verify": f"verify {LEDGER}",
    "verify_head": f"verify {LEDGER} --head {HEAD}",
    "verify_head_missing": f"verify {LEDGER} --head 9{HEAD[1:]}",
    "verify_json": f"verify {LEDGER} --json",
    "verify_tampered": f"verify {TAMPERED}",
    "verify_tampered_json": f"verify {TAMPERED} --json",
    "verify_removed": "verify ledgers/removed.ledger",
    "verify_torn": "verify ledgers/torn.ledger",
    "verify_without_key": "verify ledgers/odd.ledger",
    "show_slices": f"show {SUPPORT}",
    "show_slices_dot": f"show {SUPPORT} --format dot",
    "show_slices_mermaid": f"show {SUPPORT} --format mermaid",
    "show_slices_json": f"show {SUPPORT} --format json",
    "replay_slices": f"replay {SUPPORT} --mode refuse {TICKET} "
    """'@900 !Refund {"ticket_id": "t-1", "amount": 40} @1000 !Reply {"ticket_id": "t-2"} @1100 ?Opened {}' """
    """'@2000 ?Opened {"ticket_id": "t-2"} @2100 !Close {"ticket_id": "t-2"} @2200 !Reply {"ticket_id": "t-2"}' """
    """'@3000 ?Opened {"ticket_id": "t-3"} @20000 tick @90000 ?Approved {"ticket_id": "t-1"} by ana @90001 end'""",
    "replay_slices_due": f"replay {SUPPORT} {TICKET}",
    "replay_slices_json": f"replay {SUPPORT} --json {TICKET} '@90000 tick @90000 end'",
    "replay_without_time": f"replay {SUPPORT} {TICKET} '!Close'",
    "explain_e018": "explain E018",
    "explain_e047": "explain E047",
    "explain_e056": "explain E056",
    "step_slices": f"step {SUPPORT} --at 0",
    "step_data": f"step {PAYMENT}",
    "step_rules": "step contracts/house_rules.accord",
    "review_list": f"review list env:STORE {AT}",
    "review_list_all": f"review list env:STORE --all {AT}",
    "review_list_json": f"review list env:STORE --session order-17 --all --json {AT}",
    "review_show": f"review show env:STORE order-17 1-ff80254a {AT}",
    "review_show_decided": f"review show env:STORE order-17 4-43fb7a0d {AT}",
    "review_show_hostile": f"review show env:STORE {shlex.quote(ODD_KEY)} 1-cf24f143 {AT}",
    "review_show_stuck": f"review show env:STORE stuck 1-68640b36 {AT}",
    "review_decide": f"review decide env:STORE order-17 1-ff80254a allow reviews/invoice.accord --by ana {AT}",
    "review_decide_twice": f"review decide env:STORE order-17 3-234e9d18 allow reviews/invoice.accord --by bob {AT}",
    "trace_validate": f"trace validate {TRACES}/base.jsonl {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml",
    "trace_validate_json": f"trace validate {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml --format json",
    "trace_validate_junit": f"trace validate {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml --format junit",
    "trace_gate": f"trace validate {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml --fail-on-trace-violations",
    "trace_fingerprint": f"trace fingerprint {TRACES}/base.jsonl {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml",
    "trace_diff": f"trace diff {TRACES}/base.jsonl {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml",
    "trace_diff_baseline": f"trace diff {TRACES}/baseline.json {TRACES}/hasty.jsonl --fail-on-trace-drift",
    "trace_diff_json": f"trace diff {TRACES}/base.jsonl {TRACES}/hasty.jsonl --format json",
    "explain_e061": "explain E061",
    "sessions_show_guarded": "sessions show env:STORE busy",
    "sessions_show_stopped": "sessions show env:STORE stopped",
}
TYPED = {
    "step": "1\n!Sorry\nSory\n?No\nundo\nhelp\nclose\nquit\n",
    "step_data": "1\n1\n250\n[EUR\nEUR\n2\n250\nEUR\n1\n1\nana\n2\nundo\n"
    """!Pay {"amount": 250, "currency": "EUR"}\nundo\nquit\n""",
    "step_slices": '1\nt-1\n\n1\nt-1\n40\n+10m\n@900 !Refund {"ticket_id": "t-1"}\n'
    '@1000 ?Opened {"ticket_id": "\\u001b`"}\ntick +5h\nundo\ntick\n+24h\nclose\n\nquit\n',
    "step_rules": "!Ask\n5\n500\n7\nAna B.\n5\n500\nclose\n",
}


@pytest.fixture
def _store(monkeypatch, tmp_path):
    monkeypatch.setattr("secrets.token_hex", lambda size: "5e" * size)  # ledgers are named by chance
    fill(tmp_path / "sessions.db")
    monkeypatch.setenv("STORE", str(tmp_path / "sessions.db"))


@pytest.mark.parametrize("name", CASES)
def test_output(name, monkeypatch, request):
    if "env:STORE" in CASES[name]:
        request.getfixturevalue("_store")
    monkeypatch.chdir(HERE)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("LINES", "40")
    monkeypatch.setenv("COLUMNS", "100")
    arguments = shlex.split(CASES[name])
    result = CliRunner().invoke(app, arguments, prog_name="accord", input=TYPED.get(name, ""))
    seen = f"$ accord {CASES[name]}\n{result.output}[exit status {result.exit_code}]\n"
    expected = HERE / "expected" / f"{name}.txt"
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        expected.write_text(seen, encoding="utf-8")
    assert seen == expected.read_text(encoding="utf-8")


def test_no_file_is_left_over():
    assert {path.stem for path in (HERE / "expected").iterdir()} == set(CASES)
