"""What is loaded when, and what is said where LangChain is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord.langchain

WITHOUT = "import sys; sys.modules.update({'langchain': None, 'langchain_core': None, 'langgraph': None}); "


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_every_public_name_is_there():
    for name in accord.langchain.__all__:
        assert getattr(accord.langchain, name) is not None
    assert set(accord.langchain.__all__) == set(accord.langchain._HOME)
    with pytest.raises(AttributeError, match="no attribute 'Midleware'"):
        _ = accord.langchain.Midleware


def test_importing_the_package_loads_no_langchain():
    code = "import sys, accord.langchain; print([m for m in sys.modules if m.startswith('lang')])"
    assert python(code).stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["AccordMiddleware", "CheckpointedProtocolMiddleware", "ProtocolState"])
def test_without_langchain_the_error_names_the_extra(name):
    run = python(f"{WITHOUT} from accord.langchain import {name}")
    assert run.returncode == 1
    assert "pip install 'accord-contracts[langchain]'" in run.stderr


def test_monitors_need_no_langchain():
    code = f"""{WITHOUT}
from accord.langchain import ProtocolFSM, ProtocolMonitor, ProtocolViolationError, Transition, ref
fsm = ProtocolFSM(initial="a").add_transition(Transition(source="a", tool=ref(print), phase="send", target="b"))
print(ProtocolMonitor(fsm).transition(ref(print), "send"))
"""
    assert python(code).stdout == "True\n"
