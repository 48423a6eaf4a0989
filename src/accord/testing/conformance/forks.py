"""A process that forks while a store is open: parent and child both go on, and neither loses what the other keeps."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from typing import TYPE_CHECKING

import pytest

import accord
from accord import Blocked, Ok, Violation
from accord.stores import StoredSession
from accord.testing.agreement import check_session, identified
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["ForkTests"]

_THREADS = 8
_PATIENCE = 100


class Child:
    """A fork that does some work; it waits for `go_on` wherever it calls `wait`."""

    def __init__(self, work: Callable[[Child], None]) -> None:
        self._told, told = os.pipe()
        here, self._go = os.pipe()
        self._here, self._say = here, told
        self.process = os.fork()
        if self.process == 0:
            signal.alarm(_PATIENCE)  # a child that is stuck ends, and its parent is not
            try:
                work(self)
            except BaseException:  # noqa: BLE001 - told to the parent
                os.write(told, traceback.format_exc().encode()[-4000:])
                os._exit(1)
            os._exit(0)
        os.close(told)
        os.close(here)

    def wait(self) -> None:
        """In the child: say that this much is done, and wait for the parent."""
        os.write(self._say, b".")
        assert os.read(self._here, 1)

    def is_there(self) -> None:
        """In the parent: wait until the child waits."""
        said = os.read(self._told, 4000)
        assert said == b".", said.decode()

    def go_on(self) -> None:
        """In the parent: let the child go on."""
        os.write(self._go, b".")

    def end(self) -> None:
        """In the parent: wait for the end of the child."""
        said = b""
        while more := os.read(self._told, 4000):
            said += more
        _, status = os.waitpid(self.process, 0)
        os.close(self._told)
        os.close(self._go)
        assert (status, said) == (0, b""), said.decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
class ForkTests(Ground):
    """`os.fork`, which is how many servers and `multiprocessing` begin a worker."""

    @pytest.fixture
    def shared(self, harness: StoreHarness) -> StoreHarness:
        """The harness of a store that processes can share."""
        if harness.address is None:
            pytest.skip("processes cannot share a store of this kind")
        return harness

    def test_a_child_goes_on_with_an_open_store(self, shared: StoreHarness) -> None:
        with shared.open() as store:
            session = session_of(store, ONE_SHOT)
            assert session.send("note") == Ok()

            def work(_: Child) -> None:
                assert session.send("pay") == Ok()
                assert session_of(store, ONE_SHOT).version == 2

            Child(work).end()
            assert isinstance(session.send("pay"), Violation)
            check_session(store, session.contract, "s1")

    def test_a_parent_that_closes_takes_nothing_from_its_child(self, shared: StoreHarness) -> None:
        store = shared.open()
        session_of(store, ONE_SHOT).send("note")

        def work(child: Child) -> None:
            session = session_of(store, ONE_SHOT)
            assert session.send("note") == Ok()
            child.wait()
            assert session.send("pay") == Ok()
            child.wait()

        child = Child(work)
        child.is_there()
        store.close()
        child.go_on()
        child.is_there()
        with shared.open() as other:
            assert isinstance(session_of(other, ONE_SHOT).send("pay"), Violation), "paid twice"
            assert len(check_session(other, accord.compile(ONE_SHOT), "s1")) == 4
        child.go_on()
        child.end()

    def test_a_child_that_ends_takes_nothing_from_its_parent(self, shared: StoreHarness) -> None:
        with shared.open() as store:
            session = session_of(store, ONE_SHOT)
            session.send("note")

            def work(_: Child) -> None:
                session.send("note")
                store.close()
                assert session.send("pay") == Blocked("the session cannot be kept (the store is closed)")

            Child(work).end()
            assert session.send("pay") == Ok()
            with shared.open() as other:
                assert isinstance(session_of(other, ONE_SHOT).send("pay"), Violation)
            check_session(store, session.contract, "s1")

    def test_many_threads_of_a_child(self, shared: StoreHarness) -> None:
        """All of them come at once, and none may use what belongs to the parent."""
        contract = accord.compile(ONE_SHOT)
        with shared.open() as store:
            session = StoredSession(store, contract, "s1")
            session.send("note")

            def work(_: Child) -> None:
                answers: list[object] = []
                barrier = threading.Barrier(_THREADS)

                def pay() -> None:
                    barrier.wait(_PATIENCE)
                    answers.append(StoredSession(store, contract, "s1").send("pay"))

                crew = [threading.Thread(target=pay) for _ in range(_THREADS)]
                for thread in crew:
                    thread.start()
                for thread in crew:
                    thread.join(_PATIENCE)
                assert sorted(type(answer).__name__ for answer in answers) == ["Ok"] + ["Violation"] * (_THREADS - 1)

            child = Child(work)
            for _ in range(20):
                assert session.send("note") == Ok()
            child.end()
            assert len(check_session(store, contract, "s1")) == 21 + _THREADS

    def test_a_fork_in_the_middle_of_something(self, shared: StoreHarness) -> None:
        """Other threads of the parent are writing while it forks."""
        contract = accord.compile(ONE_SHOT)
        with shared.open() as store:
            answered: list[tuple[str, str, str]] = []
            over = threading.Event()

            def write(number: int) -> None:
                session, turn = StoredSession(store, contract, "s1"), 0
                while not over.is_set():
                    turn += 1
                    assert session.send("note", {"id": f"{number}/{turn}"}) == Ok()
                    answered.append(("!note", f"{number}/{turn}", "ok"))

            crew = [threading.Thread(target=write, args=(number,)) for number in range(2)]
            for thread in crew:
                thread.start()
            try:
                for number in range(6):

                    def work(_: Child, number: int = number) -> None:
                        session = StoredSession(store, contract, "s1")
                        assert session.send("note", {"id": f"child {number}"}) == Ok()

                    Child(work).end()
                    answered.append(("!note", f"child {number}", "ok"))
            finally:
                over.set()
                for thread in crew:
                    thread.join(_PATIENCE)
            kept = identified(check_session(store, contract, "s1"))
            assert len(answered) > 6
            assert all(kept[attempt] == 1 for attempt in answered)
            assert sum(kept.values()) == len(answered)

    def test_a_store_that_cannot_be_shared_is_not_copied(self, harness: StoreHarness, store: Store) -> None:
        """A child would be told yes about what nobody else will ever see."""
        if harness.address is not None:
            return
        session = session_of(store, ONE_SHOT)
        session.send("note")

        def work(_: Child) -> None:
            assert isinstance(session.send("pay"), Blocked)
            assert isinstance(session.peek_send("pay"), Blocked)

        Child(work).end()
        assert session.send("pay") == Ok()
