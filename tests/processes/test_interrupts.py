"""An interrupt that Python drops is raised at the next check."""

import os
import signal
import threading

import pytest

from tilewright.processes.interrupts import Interrupts


@pytest.fixture(autouse=True)
def default_handler():
    """The handler of an ordinary program; one that is started in the background has none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupted:
    """An object in the finalizer of which the user presses Ctrl-C."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # where Python runs the handler
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_finalizer_loses_is_raised_later():
    with Interrupts() as interrupts:
        interrupts.check()
        Interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_stays():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_other_threads_are_left_alone():
    thread = threading.Thread(target=lambda: Interrupts().__enter__().__exit__(None, None, None))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
