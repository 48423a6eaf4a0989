"""The real command in a process of its own: streams, signals, statuses."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess

import pytest

from accord import __version__

ASK = "!Ask.?{Yes.end, No}.!Sorry.end"


def on_a_terminal(prepared, **options):
    """Run a prepared command with a terminal as its output; what it wrote there."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(**prepared, stdout=theirs, stderr=theirs, **options) as process:
            os.close(theirs)
            out = b""
            try:
                while piece := os.read(ours, 65536):
                    out += piece
            except OSError:  # the terminal is gone with its last user
                pass
            process.wait(30)
    finally:
        os.close(ours)
    return out.decode()


def test_version_and_help(process):
    assert process("--version").stdout.decode() == f"accord {__version__}\n"
    result = process("--help")
    assert result.returncode == 0
    for word in ("check", "fmt", "show", "replay", "step", "explain", "Exit status"):
        assert word in result.stdout.decode()


def test_help_loads_nothing_heavy(process, command):
    script = (
        "import sys; sys.argv = ['accord', '--help']\n"
        "from accord.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('accord.language', 'accord.machine', 'accord.monitor'))])"
    )
    prepared = command()
    prepared["args"][2:] = [script]
    result = subprocess.run(**prepared, capture_output=True, check=True, timeout=30)
    assert result.stdout.decode().splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["nope"], ["check"], ["check", "--nope"], ["show", "--format", "x", "y"]])
def test_wrong_usage(process, arguments):
    result = process(*arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.startswith(b"error: ")
    assert b"--help" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_command_that_is_misspelt(process):
    assert process("chekc").stderr.splitlines()[0] == b"error: there is no command `chekc`; did you mean `check`?"
    assert process("xyzzy").stderr.splitlines()[0] == b"error: there is no command `xyzzy`"


def test_hostile_arguments_stay_inert(process):
    for arguments in (["\x1b[31m[red]x"], ["check", "--\x1b[31m[red]x"], ["check", "\x1b[31m[red]x"]):
        result = process(*arguments)
        assert result.returncode == 2
        assert b"\x1b" not in result.stderr
        assert b"[red]x" in result.stderr


def test_colour_on_a_terminal_only(command, process, write):
    path = write("!a.X")
    assert b"\x1b" not in process("check", path).stdout
    assert "\x1b[1;31merror[E021]" in on_a_terminal(command("check", path))
    assert "\x1b" not in on_a_terminal(command("check", path, NO_COLOR="1"))
    assert "\x1b" not in on_a_terminal(command("check", path, TERM="dumb"))
    assert b"\x1b[1;31m" in process("check", path, FORCE_COLOR="1").stdout


def test_prose_is_broken_into_lines_on_a_terminal_only(command, process):
    lines = on_a_terminal(command("explain", "E023", COLUMNS="60", NO_COLOR="1")).splitlines()
    assert max(map(len, lines[:8])) <= 60
    assert max(len(line) for line in process("explain", "E023").stdout.decode().splitlines()) > 120


def test_what_is_formatted_reaches_a_terminal_made_visible(command, process, write):
    text = "// \x1b[31m\nprotocol P = !a.end\n"
    assert process("fmt", "-", input=text.encode()).stdout == text.encode()
    with write(text).open("rb") as file:
        shown = on_a_terminal(command("fmt", "-"), stdin=file)
    assert shown.splitlines()[0] == r"// \x1b[31m"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_an_output_that_lacks_characters(process, write, encoding):
    path = write("!日本.end")
    for arguments in (["show", path], ["step", path], ["replay", path, "!日本"], ["show", path, "--format", "json"]):
        result = process(*arguments, PYTHONIOENCODING=encoding)
        assert (result.returncode, result.stderr) == (0, b"")
    json.loads(result.stdout)


def test_a_pipe_that_is_closed_early(command, write):
    prepared = command("replay", write("rec L.!a.L"), "-")
    with subprocess.Popen(**prepared, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"!a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"   1  !a   ok\n"
        process.stdout.close()
        process.stdin.write(b"!a\n")
        process.stdin.close()
        assert process.wait(30) == 141
        assert process.stderr.read() == b""


def test_interrupting(command, write):
    prepared = command("replay", write("rec L.!a.L"), "-")
    # A shell that runs tests in the background lets them ignore SIGINT, and their children inherit that.
    prepared["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(**prepared, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"!a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"   1  !a   ok\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110 - read once, here
def test_a_full_disk(command, write):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        result = subprocess.run(
            **command("show", write(ASK)), stdout=full, stderr=subprocess.PIPE, check=False, timeout=30
        )
    assert result.returncode == 2
    assert result.stderr == b"error: cannot read or write: No space left on device\n"


def test_closed_streams(command, write):
    prepared = command("check", write("!a.X"))
    closing = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *prepared["args"]]
    assert subprocess.run(closing, env=prepared["env"], check=False, timeout=30).returncode == 1


def test_stepping_on_a_terminal(command, write):
    ours, theirs = pty.openpty()
    prepared = command("step", write(ASK), NO_COLOR="1")
    with subprocess.Popen(**prepared, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        out = b""
        for line in (b"1\n", b"!Sorry\n", b"\x04"):
            while not out.endswith(b"step> "):
                out += os.read(ours, 65536)
            os.write(ours, line)
            out += b"|"
        assert process.wait(30) == 0
    os.close(ours)
    assert "VIOLATION" in out.decode()


def test_being_asked_on_a_terminal(command, write):
    ours, theirs = pty.openpty()
    prepared = command("step", write("!Pay(amount < 5).?Approval by human.end"), NO_COLOR="1", COLUMNS="80")
    with subprocess.Popen(**prepared, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        out = b""
        for prompt, line in (
            (b"step> ", b"1\n"),
            (b"amount (< 5): ", b"3\n"),
            (b"step> ", b"1\n"),
            (b"step): ", b"ana\n"),
            (b"step> ", b"\x04"),
        ):
            while not out.endswith(prompt):
                out += os.read(ours, 65536)
            os.write(ours, line)
            out += b"|"
        assert process.wait(30) == 0
    os.close(ours)
    assert "?Approval by ana is ok" in out.decode()


@pytest.mark.parametrize("width", [60, 100])
def test_times_and_instances_on_a_terminal(command, write, width):
    contract = "protocol P = each id: !Ask.?Yes within 24h else end\n"
    contract += 'rule "r" { each id: within 1h after Ask require Yes }'
    ours, theirs = pty.openpty()
    prepared = command("step", write(contract), NO_COLOR="1", COLUMNS=str(width), LINES="60")
    hostile = "\\u001b[2J\\u202e" + "x" * 200
    with subprocess.Popen(**prepared, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        out = b""
        for prompt, line in (
            (b"step> ", b"1\n"),
            (b"goes by it): ", f'"{hostile}"\n'.encode()),
            (b"told yet): ", b"5\n"),
            (b"step> ", b'!Ask {"id": 2}\n'),
            (b"(in 1h)): ", b"+10m\n"),
            (b"step> ", b"tick +2h\n"),
            (b"step> ", b"undo\n"),
            (b"step> ", b"\x04"),
        ):
            while not out.endswith(prompt):
                out += os.read(ours, 65536)
            os.write(ours, line)
            out += b"|"
        assert process.wait(30) == 0
    os.close(ours)
    text = out.decode()
    assert "took back @7805 tick" in text
    assert "\u202e" not in text
    # What is typed and asked goes over the edge; what is shown does not.
    shown = [line for line in text.splitlines() if "|" not in line and not line.startswith("   id (")]
    assert max(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) for line in shown) <= width
    assert "overdue" in text


def test_the_booking_demo(command):
    from pathlib import Path

    demo = Path(__file__).parents[3] / "examples/booking/demo.py"
    prepared = command()
    prepared["args"][1:] = [str(demo)]
    result = subprocess.run(**prepared, capture_output=True, check=False, timeout=30)
    assert (result.returncode, result.stderr) == (0, b"")
    out = result.stdout.decode()
    assert "BookFlight has run 0 times" in out
    assert out.index("contract  refuses it") < out.index("UserApproval: yes") < out.index("BookingConfirmation:")
    assert "\x1b" not in out
