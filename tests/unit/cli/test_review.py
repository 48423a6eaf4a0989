"""`accord review`, and `accord sessions` on sessions under a guard, on a SQLite file."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import threading

import pytest
from tests.reviews import BEGAN, CONTRACT, HOSTILE, HOUR, ODD_KEY, TEXT, Clock, asking, fill, guard_of

from accord import SQLiteStore, StoredSession, ToolCall
from accord.errors import UsageError
from accord.integrations.guard.reading import guarded_in, guarded_session

NOW = ("--at", BEGAN + HOUR)


@pytest.fixture
def ids(tmp_path):
    return fill(tmp_path / "sessions.db")


@pytest.fixture
def path(tmp_path, ids):
    return tmp_path / "sessions.db"


@pytest.fixture
def contract():
    return CONTRACT


@pytest.fixture
def decide(accord, path, contract):
    """Decide about a review of `order-17`, an hour after it was opened."""

    def run(review, *answer, by="ana", session="order-17", at=BEGAN + HOUR):
        return accord("review", "decide", path, session, review, *answer, contract, "--by", by, "--at", at)

    return run


def rows(path):
    with SQLiteStore(path) as store:
        return list(store.rows())


def damage(path, statement, *values):
    db = sqlite3.connect(path)
    assert db.execute(statement, values).rowcount == 1
    db.commit()
    db.close()


def objects(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def is_plain(text):
    return all(character.isprintable() or character == "\n" for character in text)


# -- list --------------------------------------------------------------------------------------------------------------


def test_what_is_to_be_decided(accord, path, ids):
    result = accord("review", "list", path, *NOW)
    assert result.exit_code == 0
    *lines, total = result.output.splitlines()
    assert total == "3 reviews to be decided"
    assert any(line.split()[:3] == ["order-17", ids[0], "open"] for line in lines)
    assert any(line.startswith("stuck ") for line in lines)
    assert not any(line.startswith("short ") for line in lines)
    assert is_plain(result.output)


def test_all_of_them(accord, path, ids):
    listed = objects(accord("review", "list", path, "--all", "--json", *NOW))
    states = {(each["session"], each["review"]): each["state"] for each in listed}
    assert [states["order-17", each] for each in ids] == ["open", "used", "denied", "allowed"]
    assert states["short", next(review for key, review in states if key == "short")] == "expired"
    later = objects(accord("review", "list", path, "--all", "--json", "--at", BEGAN + 25 * HOUR))
    assert [each["state"] for each in later if each["session"] == "order-17"] == [
        "expired",
        "used",
        "denied",
        "expired",
    ]


def test_those_of_one_session(accord, path, ids):
    (review,) = objects(accord("review", "list", path, "--session", "order-17", "--json", *NOW))
    assert review["review"] == ids[0]
    assert review["payload"] == {"to": "acme", "amount": 250}
    assert review["gate"] == "Approval"
    assert review["expires"] == review["opened"] + 24 * HOUR
    assert accord("review", "list", path, "--session", "busy").output == "0 reviews to be decided\n"
    result = accord("review", "list", path, "--session", "nobody")
    assert (result.exit_code, "there is no session `nobody`" in result.output) == (2, True)


def test_by_the_time_of_day_a_review_without_an_end_is_open(accord, path):
    listed = objects(accord("review", "list", path, "--json"))
    assert {each["session"] for each in listed} == {ODD_KEY, "stuck"}


def test_a_clock_that_went_back_stands_still(accord, path):
    assert "order-17" in accord("review", "list", path, "--at", 0).output
    assert not any(each["session"] == "short" for each in objects(accord("review", "list", path, "--json", *NOW)))


# -- show --------------------------------------------------------------------------------------------------------------


def test_what_a_person_sees(accord, path, ids):
    result = accord("review", "show", path, "order-17", ids[0], *NOW)
    assert result.exit_code == 0
    for text in ("!pay", '"amount": 250', "?Approval by human", "2026-03-02T09:00:01Z (59m 59s ago)", "is whole"):
        assert text in result.output
    assert "?pay" in result.output
    for identity, text in zip(ids[1:], ("used", "we never ordered that", "to be used instead"), strict=True):
        assert text in accord("review", "show", path, "order-17", identity, *NOW).output


def test_what_a_program_sees(accord, path, ids):
    (shown,) = objects(accord("review", "show", path, "order-17", ids[3], "--json", *NOW))
    assert (shown["state"], shown["by"], shown["modified"]) == ("allowed", "Bob B.", {"amount": 200, "to": "acme"})
    assert shown["ledger"]["ok"]
    assert shown["entries"][-1]["event"] == "?pay"
    assert [review["review"] for review in shown["guard"]["reviews"]] == [ids[0]]


def test_whether_the_agent_may_go_on(accord, path):
    (review,) = objects(accord("review", "list", path, "--session", "stuck", "--json"))
    result = accord("review", "show", path, "stuck", review["review"])
    assert "may the agent go on?" in result.output


def only_review(accord, path, key):
    (review,) = objects(accord("review", "list", path, "--session", key, "--json", *NOW))
    return review


def test_hostile_text_stays_inert(accord, path):
    review = only_review(accord, path, ODD_KEY)
    assert review["payload"] == HOSTILE
    result = accord("review", "show", path, ODD_KEY, review["review"], *NOW)
    assert result.exit_code == 0
    assert is_plain(result.output)
    assert ODD_KEY in result.output
    states = [line for line in result.output.splitlines() if line.startswith("state")]
    assert states == ["state     open"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_payload_poses_as_a_line_of_ours(accord, command, path, columns):
    """A terminal breaks a long line wherever it likes; so it never gets one."""
    review = only_review(accord, path, ODD_KEY)["review"]
    prepared = command("review", "show", path, ODD_KEY, review, *NOW, COLUMNS=str(columns), NO_COLOR="1")
    shown, status = on_a_terminal(prepared)
    assert status == 0
    facts, _, rest = shown.partition("payload\r\n")
    payload, _, _ = rest.partition("the ledger of the session")
    assert '"amount": 101' in payload
    lines = [line for line in payload.split("\r\n") if line]
    assert all(line.startswith(("  │ ", "  ┊ ")) for line in lines)
    assert max(map(len, [*facts.split("\r\n"), *lines])) <= columns
    assert "x" * 300 in "".join(line[4:] for line in lines)


def test_a_payload_that_is_too_long_to_show(accord, tmp_path):
    with SQLiteStore(tmp_path / "long.db") as store:
        guard = asking(store, "long", Clock(), {"amount": 101, "to": "x" * 200_000})
        (review,) = guard.reviews()
    result = accord("review", "show", tmp_path / "long.db", "long", review.id)
    assert "more characters are NOT shown; --json prints all of it" in result.output
    assert len(result.output) < 70_000
    (shown,) = objects(accord("review", "show", tmp_path / "long.db", "long", review.id, "--json"))
    assert shown["payload"]["to"] == "x" * 200_000


def test_a_payload_that_is_nested_deep(accord, tmp_path):
    deep = []
    for _ in range(80):
        deep = [deep]
    with SQLiteStore(tmp_path / "deep.db") as store:
        guard = asking(store, "deep", Clock(), {"amount": 101, "x": deep})
        (review,) = guard.reviews()
    assert accord("review", "show", tmp_path / "deep.db", "deep", review.id).exit_code == 0
    (shown,) = objects(accord("review", "list", tmp_path / "deep.db", "--json"))
    assert shown["payload"]["x"] == deep


@pytest.mark.parametrize(
    ("session", "review", "said"),
    [
        ("nobody", "1-0", "there is no session `nobody`"),
        ("order-17", "99-00000000", "there is no review `99-00000000`"),
        ("order-17", "", "there is no review ``"),
        ("order-17", "\x1b[31m", r"there is no review `\x1b[31m`"),
        ("plain", "1-0", "session `plain` is not under a guard"),
        ("", "1-0", "non-empty"),
        ("a\x1b", "1-0", "printable"),
    ],
)
@pytest.mark.parametrize("name", ["show", "decide"])
def test_reviews_that_are_not_there(accord, path, name, session, review, said):
    with SQLiteStore(path) as store:
        StoredSession(store, TEXT, "plain").send("read")
    rest = [] if name == "show" else ["allow", CONTRACT, "--by", "ana"]
    result = accord("review", name, path, session, review, *rest)
    assert (result.exit_code, said in result.output) == (2, True), result.output


def test_an_id_of_another_action(accord, path, ids, decide):
    number = ids[0].split("-")[0]
    for result in (accord("review", "show", path, "order-17", f"{number}-00000000"), decide(f"{number}-0", "allow")):
        assert result.exit_code == 2
        assert f"review {number} of this session is `{ids[0]}`, about another action or payload" in result.output


# -- decide ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (["allow"], "allowed", "allowed by ana: !pay may happen once, with exactly this payload\n"),
        (["deny", "--reason", "no"], "denied", "denied by ana: !pay does not happen like this\n"),
        (["modify", "--payload", '{"amount": 9}'], "allowed", "with the payload that was given instead\n"),
    ],
)
def test_deciding(accord, path, ids, decide, answer, state, said):
    result = decide(ids[0], *answer)
    assert result.exit_code == 0
    assert result.output.endswith(said)
    (shown,) = objects(accord("review", "show", path, "order-17", ids[0], "--json", *NOW))
    assert (shown["state"], shown["by"], shown["decided"]) == (state, "ana", BEGAN + HOUR)
    entry = shown["entries"][-1]
    assert (entry["what"], entry["detail"]["answer"], entry["detail"]["by"]) == ("review decided", answer[0], "ana")
    assert shown["ledger"]["ok"]


def test_what_was_decided_is_what_the_guard_does(path, ids, decide):
    assert decide(ids[0], "modify", "--payload", '{"amount": 9, "to": "me"}', "--json").exit_code == 0
    clock = Clock()
    clock.now += HOUR
    with SQLiteStore(path) as store:
        guard = guard_of(store, "order-17", clock)
        (result,) = guard.run([ToolCall("pay", {"amount": 250, "to": "acme"}, "late")])
    assert result.result == {"paid": 9, "to": "me"}


def test_what_was_decided_for_programs(ids, decide):
    (decided,) = objects(decide(ids[0], "deny", "--reason", "\x1b[31m", "--json"))
    assert (decided["state"], decided["reason"], decided["session"]) == ("denied", "\x1b[31m", "order-17")


@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_whether_the_agent_goes_on(accord, path, decide, answer):
    review = only_review(accord, path, "stuck")["review"]
    result = decide(review, answer, session="stuck")
    assert result.exit_code == 0
    stopped = json.loads(accord("sessions", "show", path, "stuck", "--json").stdout)["guard"]["stopped"]
    assert (stopped is None) == (answer == "allow")
    assert ("the agent may go on" if answer == "allow" else "the session is stopped") in result.output


@pytest.mark.parametrize(
    ("which", "answer", "at", "status", "said"),
    [
        (0, ["yes"], HOUR, 2, "decided by `allow`, `deny` or `modify`, got `yes`"),
        (0, ["Allow"], HOUR, 2, "got `Allow`"),
        (0, ["allow", "deny"], HOUR, 2, "one answer is expected"),
        (0, [], HOUR, 2, "an answer is required here"),
        (0, ["allow", "--payload", "{}"], HOUR, 2, "`modify` comes with `--payload`, and nothing else does"),
        (0, ["modify"], HOUR, 2, "`modify` comes with `--payload`"),
        (0, ["modify", "--payload", "[1]"], HOUR, 2, "a payload is a JSON object"),
        (0, ["modify", "--payload", "{"], HOUR, 2, "the payload is no JSON"),
        (0, ["modify", "--payload", '{"a": NaN}'], HOUR, 2, "the payload is no JSON"),
        (0, ["modify", "--payload", "[" * 100_000], HOUR, 2, "nested too deep"),
        (0, ["modify", "--payload", "@nowhere.json"], HOUR, 2, "cannot read nowhere.json"),
        (0, ["modify", "--payload", "@a\0b"], HOUR, 2, "cannot read"),
        (0, ["modify", "--payload", '{"amount": 9999}'], HOUR, 1, "the contract refuses `!pay` with this payload"),
        (0, ["allow"], 25 * HOUR, 1, "has expired at 2026-03-03T09:00:01Z; nothing was decided. Have the agent ask"),
        (1, ["allow"], HOUR, 1, "was allowed by ana and has been used up"),
        (1, ["deny"], HOUR, 1, "that cannot be changed"),
        (2, ["allow"], HOUR, 1, "was denied by ana"),
        (3, ["deny"], HOUR, 1, "was allowed by `Bob B.`"),
    ],
)
def test_what_cannot_be_decided(path, ids, decide, which, answer, at, status, said):
    before = rows(path)
    result = decide(ids[which], *answer, at=BEGAN + at)
    assert (result.exit_code, said in result.stderr, result.stdout) == (status, True, ""), result.output
    assert rows(path) == before


def test_deciding_twice(path, ids, decide):
    assert decide(ids[0], "allow").exit_code == 0
    before = rows(path)
    for answer in ("allow", "deny"):
        result = decide(ids[0], answer, by="bob")
        assert result.exit_code == 1
        assert "was allowed by ana at" in result.stderr
    assert rows(path) == before


def test_many_decide_at_once(process, path, ids, contract):
    """One answer counts, and everybody else is told whose."""
    results = []

    def run(name, answer):
        arguments = (path, "order-17", ids[0], answer, contract, "--by", name, *NOW)
        results.append((name, process("review", "decide", *arguments)))

    threads = [threading.Thread(target=run, args=(f"p{n}", ("allow", "deny")[n % 2])) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [name for name, result in results if result.returncode == 0]
    losers = [result for name, result in results if name != winner]
    assert [result.returncode for result in losers] == [1] * 5
    assert all(f"by {winner} at".encode() in result.stderr for result in losers)


@pytest.mark.parametrize("by", ["", " ", "\t\n"])
def test_nobody_decides(path, ids, decide, by):
    before = rows(path)
    result = decide(ids[0], "allow", by=by)
    assert (result.exit_code, "names the person" in result.stderr) == (2, True)
    assert rows(path) == before


def test_a_person_has_to_be_named(accord, path, ids, contract):
    result = accord("review", "decide", path, "order-17", ids[0], "allow", contract)
    assert (result.exit_code, "--by" in result.output) == (2, True)


def test_names_that_are_no_text(process, path, ids, contract):
    none = os.fsdecode(b"\xff")
    for options in (["--by", none], ["--by", "ana", "--reason", none]):
        result = process("review", "decide", path, "order-17", ids[0], "allow", contract, *options, *NOW)
        assert result.returncode == 2
        assert b"is no text in UTF-8" in result.stderr


def test_hostile_names(accord, path, ids, decide):
    hostile = "ana\x1b[2J\u202e\nstate     allowed"
    result = decide(ids[0], "deny", "--reason", hostile, by=hostile)
    assert result.exit_code == 0
    for text in (
        result.output,
        decide(ids[0], "deny").output,
        accord("review", "show", path, "order-17", ids[0]).output,
    ):
        assert is_plain(text)


def test_a_payload_in_a_file(accord, path, ids, contract, tmp_path, decide):
    file = tmp_path / "payload.json"
    for data, said in ((b"\xff", "no text in UTF-8"), (b"", "no JSON"), (b" " * 5_000_000, "longer than")):
        file.write_bytes(data)
        result = decide(ids[0], "modify", "--payload", f"@{file}")
        assert (result.exit_code, said in result.stderr) == (2, True)
    arguments = ("review", "decide", path, "order-17", ids[0], "modify", contract, "--by", "ana", "--json", *NOW)
    (decided,) = objects(accord(*arguments, "--payload", "@-", input='\ufeff{"amount": 7}\n'))
    assert decided["modified"] == {"amount": 7}


def test_another_contract(accord, path, ids, write):
    before = rows(path)
    other = write("!other.end", "other.accord")
    result = accord("review", "decide", path, "order-17", ids[0], "allow", other, "--by", "ana", *NOW)
    assert (result.exit_code, "belongs to another contract" in result.output) == (2, True)
    wrong = write("!other.", "wrong.accord")
    assert accord("review", "decide", path, "order-17", ids[0], "allow", wrong, "--by", "ana", *NOW).exit_code == 1
    assert rows(path) == before


def test_a_session_that_has_expired(accord, tmp_path, contract):
    path = tmp_path / "old.db"
    with SQLiteStore(path) as store:
        guard = asking(store, "old", Clock(), {"amount": 300}, expires_after=HOUR)
        (review,) = guard.reviews()
    arguments = ("review", "decide", path, "old", review.id, "allow", contract, "--by", "ana")
    late = ("--at", BEGAN + 2 * HOUR)
    assert accord("review", "list", path, *late).output == "0 reviews to be decided\n"
    result = accord(*arguments, *late)
    assert (result.exit_code, "has expired" in result.stderr) == (1, True)
    with SQLiteStore(path) as store:
        assert store.sweep(BEGAN + 2 * HOUR) == ["old"]
    result = accord(*arguments, *late)
    assert (result.exit_code, "has expired" in result.stderr) == (2, True)
    assert accord("review", "list", path, "--all").output == "0 reviews\n"


# -- asking on a terminal ----------------------------------------------------------------------------------------------


def on_a_terminal(prepared, typed=()):
    """Run a command with a terminal, type a line whenever it asks something; what it showed, and its status."""
    ours, theirs = pty.openpty()
    typed = list(typed)
    with subprocess.Popen(**prepared, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        shown, answered = "", 0
        try:
            while piece := os.read(ours, 65536):
                shown += piece.decode()
                asked = re.search(r"(\? |: )\Z", shown[answered:].rsplit("\n", 1)[-1])
                if asked and typed:
                    answered = len(shown)
                    os.write(ours, typed.pop(0))
        except OSError:  # the terminal is gone with its last user
            pass
        finally:
            os.close(ours)
        return shown, process.wait(30)


@pytest.fixture
def asked(command, path, ids, contract):
    """Deciding without an answer."""
    return command("review", "decide", path, "order-17", ids[0], contract, "--by", "ana", *NOW)


@pytest.mark.parametrize(
    ("typed", "status", "state", "said"),
    [
        ([b"allow\n", b"\n"], 0, "allowed", "may happen once, with exactly this payload"),
        ([b"\n", b"yes\n", b"deny\n", b"too much\n"], 0, "denied", "type allow, deny or modify, or quit"),
        ([b"modify\n", b"[1]\n", b'{"amount": 3}\n', b"\n"], 0, "allowed", "a payload is a JSON object"),
        ([b"modify\n", b'{"amount": 9999}\n', b"\n"], 1, "open", "the contract refuses"),
        ([b"quit\n"], 1, "open", "nothing was decided"),
        ([b"\x04"], 1, "open", "nothing was decided"),
        ([b"allow\n", b"\x04"], 1, "open", "nothing was decided"),
        ([b"modify\n", b"quit\n"], 1, "open", "nothing was decided"),
    ],
)
def test_asking(accord, asked, path, ids, typed, status, state, said):
    shown, ended = on_a_terminal(asked, typed)
    assert ended == status, shown
    assert '"amount": 250' in shown.partition("allow, deny or modify?")[0]
    assert said in shown
    (review,) = objects(accord("review", "show", path, "order-17", ids[0], "--json", *NOW))
    assert review["state"] == state


def test_nobody_is_asked_about_what_is_decided(command, path, ids, contract):
    prepared = command("review", "decide", path, "order-17", ids[1], contract, "--by", "ana", *NOW)
    shown, status = on_a_terminal(prepared)
    assert status == 1
    assert "cannot be decided: it is used" in shown


def test_json_is_never_mixed_with_questions(command, path, ids, contract):
    prepared = command("review", "decide", path, "order-17", ids[0], contract, "--by", "ana", "--json", *NOW)
    shown, status = on_a_terminal(prepared)
    assert (status, "an answer is required here" in shown) == (2, True)


def test_colour_on_a_terminal_only(command, process, path, ids):
    arguments = ("review", "show", path, "order-17", ids[0], *NOW)
    assert "\x1b[1m!pay\x1b[0m" in on_a_terminal(command(*arguments))[0]
    assert b"\x1b" not in process(*arguments).stdout


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["list", "show"])
def test_a_pipe_that_is_closed(command, path, ids, name):
    arguments = ["list", path, "--all"] if name == "list" else ["show", path, "order-17", ids[0]]
    ours, theirs = os.pipe()
    os.close(ours)
    with subprocess.Popen(**command("review", *arguments), stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_a_decision_counts_though_nobody_reads_that_it_does(accord, command, path, ids, contract):
    ours, theirs = os.pipe()
    os.close(ours)
    prepared = command("review", "decide", path, "order-17", ids[0], "allow", contract, "--by", "ana", *NOW)
    with subprocess.Popen(**prepared, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        assert process.stderr.read() == b""
    assert process.returncode == 141
    (review,) = objects(accord("review", "show", path, "order-17", ids[0], "--json", *NOW))
    assert review["state"] == "allowed"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_an_output_that_lacks_characters(accord, process, path, encoding):
    review = only_review(accord, path, ODD_KEY)["review"]
    result = process("review", "show", path, ODD_KEY, review, *NOW, PYTHONIOENCODING=encoding)
    assert (result.returncode, result.stderr) == (0, b"")


def test_a_store_in_the_environment(accord, path, ids, contract, monkeypatch):
    monkeypatch.setenv("STORE", str(path))
    assert accord("review", "list", "env:STORE").exit_code == 0
    assert accord("review", "show", "env:STORE", "order-17", ids[0]).exit_code == 0
    arguments = ("order-17", ids[0], "allow", contract, "--by", "ana", *NOW)
    assert accord("review", "decide", "env:STORE", *arguments).exit_code == 0
    result = accord("review", "list", "env:NONE_SUCH")
    assert (result.exit_code, "is not set or empty" in result.output) == (2, True)


def test_a_store_with_a_secret(accord, tmp_path, contract, monkeypatch):
    path = tmp_path / "secret.db"
    ids = fill(path, secret=b"secret")
    monkeypatch.setenv("SECRET", "secret")
    (tmp_path / "key").write_bytes(b"secret")
    (tmp_path / "wrong").write_bytes(b"other")
    arguments = (path, "order-17", ids[0])
    for options in (["--key-env", "SECRET"], ["--key-file", tmp_path / "key"]):
        assert accord("review", "list", path, *options).exit_code == 0
        assert accord("review", "show", *arguments, *options).exit_code == 0
    before = list(SQLiteStore(path, secret=b"secret").rows())
    for options in ([], ["--key-file", tmp_path / "wrong"]):
        assert accord("review", "list", path, *options).exit_code == 1
        result = accord("review", "show", *arguments, *options)
        assert (result.exit_code, "secret" in result.output) == (1, True)
        assert accord("review", "decide", *arguments, "allow", contract, "--by", "ana", *NOW, *options).exit_code == 2
    assert list(SQLiteStore(path, secret=b"secret").rows()) == before
    options = ["--key-env", "SECRET"]
    assert accord("review", "decide", *arguments, "allow", contract, "--by", "ana", *NOW, *options).exit_code == 0


def test_a_corrupted_row(accord, path, ids, decide):
    damage(path, "UPDATE sessions SET sealed = 'x' WHERE key = 'order-17'")
    result = accord("review", "list", path, *NOW)
    assert result.exit_code == 1
    assert "session `order-17` is corrupted" in result.output
    assert "2 reviews to be decided, 1 session is corrupted" in result.output
    listed = objects(accord("review", "list", path, "--json", *NOW))
    assert [each["session"] for each in listed if "fault" in each] == ["order-17"]
    assert accord("review", "list", path, "--session", "order-17", *NOW).exit_code == 1
    result = accord("review", "show", path, "order-17", ids[0])
    assert (result.exit_code, "is corrupted" in result.output) == (1, True)
    assert objects(accord("review", "show", path, "order-17", ids[0], "--json"))[0]["fault"]
    before = rows(path)
    result = decide(ids[0], "allow")
    assert (result.exit_code, "is corrupted" in result.stderr) == (2, True)
    assert rows(path) == before


@pytest.mark.parametrize(
    "kept",
    [
        b"[]",
        b'{"reviews":[[1]]}',
        b'{"log":[["!"]]}',
        b'{"log":[{"ticket":"c","name":"n","digest":"","events":[],"started":true,"kept":true}]}',
        b'{"unknown":1}',
    ],
)
def test_what_a_guard_keeps_is_no_such_thing(accord, path, ids, decide, kept):
    """A record that is sealed well and holds nonsense, as another version may write it."""
    reseal(path, "order-17", kept)
    assert accord("review", "list", path, *NOW).exit_code == 1
    for name in ("review", "sessions"):
        result = accord(name, "show", path, "order-17", *([ids[0]] if name == "review" else []))
        assert (result.exit_code, "what the guard has kept is damaged" in result.output) == (1, True)
    assert "fault" in json.loads(accord("sessions", "show", path, "order-17", "--json").stdout)
    before = rows(path)
    assert decide(ids[0], "allow").exit_code == 2
    assert rows(path) == before


def test_a_record_that_was_forged_to_do_harm(accord, path):
    """Without a secret anybody who can write the store can put anything into it, in the right form."""
    evil = "\x1b[2J\u202e\n"
    number = 10**400
    out = {"ticket": evil, "name": evil, "digest": evil, "events": [["!", evil, None, {evil: evil}, None, 1e300]]}
    review = [1, evil, evil, {evil: 1e300}, evil * 3, evil, -1e300, 1e300, "open", evil, evil, 1e300, {evil: [evil]}]
    kept = {"log": [{**out, "started": False, "kept": False}], "reviews": [review, review], "stopped": evil, "now": 1}
    reseal(path, "order-17", json.dumps(kept).replace("1e+300", str(number)).encode())
    assert is_plain(accord("review", "list", path).output)
    reseal(path, "order-17", json.dumps(kept).encode())
    (identity, _) = [
        review["review"] for review in objects(accord("review", "list", path, "--session", "order-17", "--json"))
    ]
    for arguments in (["review", "list", path], ["review", "show", path, "order-17", identity]):
        result = accord(*arguments)
        assert result.exit_code == 0, result.output
        assert is_plain(result.output)
    result = accord("sessions", "show", path, "order-17")
    assert (result.exit_code, is_plain(result.output)) == (0, True)


def reseal(path, key, kept):
    import msgspec

    from accord.stores.record import read, write

    with SQLiteStore(path) as store:
        record = msgspec.structs.replace(read(key, store.row(key), None), guard=msgspec.Raw(kept))
    damage(path, "UPDATE sessions SET sealed = ? WHERE key = ?", write(record, None).sealed, key)


def test_a_bad_ledger(accord, path, ids):
    damage(path, "UPDATE entries SET line = 'x' WHERE key = 'order-17' AND number = 1")
    result = accord("review", "show", path, "order-17", ids[0], *NOW)
    assert result.exit_code == 1
    assert '"amount": 250' in result.output
    assert "the ledger of the session is bad: entry 1" in result.output
    (shown,) = objects(accord("review", "show", path, "order-17", ids[0], "--json", *NOW))
    assert shown["ledger"]["finding"]["entry"] == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere.db", "there is no store at"),
        ("mysql://x", "no store is known"),
        ("redis://127.0.0.1:1/0", "Redis says"),
    ],
)
def test_stores_that_are_not_there(accord, address, said):
    result = accord("review", "list", address)
    assert (result.exit_code, said in result.output) == (2, True)


@pytest.mark.parametrize("at", ["", "soon", "nan", "inf", "1e999"])
def test_times_that_are_none(accord, path, at):
    result = accord("review", "list", path, "--at", at)
    assert (result.exit_code, "--at" in result.output) == (2, True)


# -- sessions under a guard --------------------------------------------------------------------------------------------


def test_the_list_of_sessions(accord, path):
    listed = objects(accord("sessions", "list", path, "--json"))
    assert {each["key"]: each["status"] for each in listed} == {
        **dict.fromkeys(["order-17", ODD_KEY, "short", "stuck", "busy"], "running"),
        "stopped": "stopped",
    }


def test_showing_a_session(accord, path, ids, monkeypatch):
    monkeypatch.setattr("time.time", lambda: BEGAN + HOUR)
    assert f"review {ids[0]} about !pay" in accord("sessions", "show", path, "order-17").output
    assert "`pay` was refused 2 times" in accord("sessions", "show", path, "stopped").output
    assert "!read has not returned (call c1)" in accord("sessions", "show", path, "busy").output
    assert is_plain(accord("sessions", "show", path, ODD_KEY).output)
    busy = json.loads(accord("sessions", "show", path, "busy", "--json").stdout)
    assert busy["guard"]["out"] == [{"call": "c1", "tool": "read", "payload": {}, "started": True}]
    order = json.loads(accord("sessions", "show", path, "order-17", "--json").stdout)
    assert [review["review"] for review in order["guard"]["reviews"]] == [ids[0]]


def test_many_calls_are_out(accord, tmp_path):
    with SQLiteStore(tmp_path / "many.db") as store:
        guard = guard_of(store, "many", Clock(), text='rule "r" { at most 100 read }')
        guard.reserve([ToolCall("read", {}, f"c{number}") for number in range(8)])
    assert "3 more" in accord("sessions", "show", tmp_path / "many.db", "many").output


def test_closing_a_session(accord, path, contract):
    result = accord("sessions", "close", path, "busy", contract)
    assert (result.exit_code, "calls are out: `read`" in result.output) == (1, True)
    with SQLiteStore(path) as store:
        guard = guard_of(store, "done", Clock())
        guard.run([ToolCall("read"), ToolCall("report")])
    result = accord("sessions", "close", path, "done", contract, "--json", "--at", BEGAN + HOUR)
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (0, "complete")
    result = accord("sessions", "close", path, "order-17", contract, "--at", BEGAN + HOUR)
    assert (result.exit_code, "still owed" in result.output.lower()) == (1, True)
    with SQLiteStore(path) as store:
        assert guarded_session(store, "order-17").status == "incomplete"
        assert store.verify("order-17").ok
        last = json.loads(list(store.ledger("order-17"))[-1])["entry"]
        assert (last["event"], last["at"]) == ("end", BEGAN + HOUR)


def test_a_stored_session_is_not_for_sessions_under_a_guard(path):
    before = rows(path)
    with SQLiteStore(path) as store:
        session = StoredSession(store, TEXT, "order-17")
        for attempt in (lambda: session.send("report"), session.close, session.allowed, lambda: session.status):
            with pytest.raises(
                UsageError, match="session `order-17` is under a guard, which knows more of it; use `Guard`"
            ):
                attempt()
    assert rows(path) == before


def test_reading_needs_no_contract(path, ids):
    with SQLiteStore(path) as store:
        StoredSession(store, TEXT, "plain").send("read")
        found = {session.key: session for session in guarded_in(store)}
        assert "plain" not in found
        assert guarded_session(store, "plain") is None
        assert guarded_session(store, "nobody") is None
        assert [review.id for review in found["order-17"].reviews] == ids
        assert [review.id for review in found["order-17"].open_reviews(BEGAN)] == ids[:1]
        assert found["order-17"].now is not None
