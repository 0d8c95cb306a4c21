"""No process outlives its user, and none is left to wait for."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright.processes import (
    Child,
    ChildDiedError,
    ChildTimeoutError,
    shared_fork_server,
)

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests
from tilewright.processes import Child, shared_fork_server

server = shared_fork_server()
idle, busy = (Child("tests.processes.test_processes:echo", server) for _ in range(2))
idle.ask(b"hello")
print(server._process.pid, server.directory, flush=True)
busy.ask(b"compute")
"""


@pytest.fixture
def user():
    """A program that waits for a child; with its fork server and its directory."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        server, directory = process.stdout.readline().split()
        yield process, int(server), Path(directory)
        process.kill()
    shutil.rmtree(directory, ignore_errors=True)  # left if both were killed


def group_of(server):
    """The processes in the group that the fork server began, zombies excepted."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == server and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux_only
def test_nothing_is_left_of_a_user_that_is_killed(user):
    process, server, directory = user
    assert len(group_of(server)) == 3  # the fork server and two children
    assert directory.exists()
    process.kill()
    assert wait_until(lambda: not group_of(server), 10.0)
    assert wait_until(lambda: not directory.exists(), 10.0)


@linux_only
def test_nothing_is_left_of_a_user_that_is_interrupted(user):
    process, server, directory = user
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _, complaints = process.communicate(timeout=5)
    assert time.monotonic() - start < 4.0
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert not group_of(server)
    assert not directory.exists()


@linux_only
def test_nothing_is_left_of_a_fork_server_that_is_killed(user):
    _, server, _ = user
    os.kill(server, signal.SIGKILL)
    assert wait_until(lambda: not group_of(server), 10.0)


def echo(connection):
    """A child that sends back what it gets, and does some things besides."""
    from tilewright.processes import channel

    while True:
        content = channel.receive(connection).decode()
        if content == "rubbish":
            channel.send(connection, b"\xff\xfe")
        if content == "speak and die":
            print("last words", flush=True)
            os._exit(7)
        while content == "compute":  # where no message can reach it
            pass
        if content != "wait":
            channel.send_json(connection, {"said": content})


@pytest.fixture
def child():
    made = Child("tests.processes.test_processes:echo")
    yield made
    made.end()


def test_a_child_answers(child):
    assert child.ask(b"hello", 5.0) == {"said": "hello"}


def test_a_child_that_does_not_answer_is_killed(child):
    start = time.monotonic()
    with pytest.raises(ChildTimeoutError):
        child.ask(b"wait", 0.2)
    assert time.monotonic() - start < 3.0
    assert not child.is_alive
    with pytest.raises(OSError, match="No such process"):
        os.kill(child.pid, 0)


def test_what_a_child_says_before_it_dies_is_told(child):
    with pytest.raises(ChildDiedError, match="ended with status 7\nlast words") as caught:
        child.ask(b"speak and die", 5.0)
    assert caught.value.death.kind == "crash"


def test_rubbish_is_taken_for_death(child):
    with pytest.raises(ChildDiedError):
        child.ask(b"rubbish", 5.0)
    assert not child.is_alive


def test_a_child_that_is_killed_from_elsewhere(child):
    child.kill()
    with pytest.raises(ChildDiedError, match="SIGKILL"):
        child.ask(b"hello", 5.0)


def test_another_child_is_there_soon(child):
    assert child.ask(b"hello", 5.0)
    start = time.monotonic()
    another = Child("tests.processes.test_processes:echo")
    another.ask(b"hello", 5.0)
    another.end()
    assert time.monotonic() - start < 3.0


def test_a_child_keeps_the_signal_that_killed_it(child):
    os.kill(child.pid, signal.SIGILL)
    with pytest.raises(ChildDiedError) as caught:
        child.ask(b"hello", 5.0)
    assert caught.value.death.kind == "illegal-instruction"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_a_fork_server_that_takes_the_place_of_a_dead_one_takes_no_more_files():
    def replaced():
        server = shared_fork_server()
        os.kill(server._process.pid, signal.SIGKILL)
        server._process.wait()
        Child("tests.processes.test_processes:echo").end()
        return len(list(Path("/proc/self/fd").iterdir()))

    assert replaced() == replaced()
