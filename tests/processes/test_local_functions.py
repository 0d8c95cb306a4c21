"""Functions are sent by value where they cannot be imported."""

import math
import os
import pickle
import subprocess
import sys

import pytest

from tilewright.error import ArgumentError
from tilewright.processes.requests import portable, received

SCALE = 3


def sent(function):
    return received(portable(function, "test"))


def test_what_a_function_needs_goes_with_it():
    offset, table = 2, {"a": 5}

    def function(x, y=7, *, z=11):
        def inner():
            return math.floor(x) * SCALE + offset

        return inner() + y + z + table["a"]

    copy = sent(function)
    assert copy is not function
    assert copy(1.5) == function(1.5) == 28
    assert copy(1, 2, z=3) == function(1, 2, z=3)
    assert (copy.__name__, copy.__module__) == (function.__name__, function.__module__)


def test_functions_that_refer_to_each_other():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert [sent(even)(n) for n in range(4)] == [True, False, True, False]


def test_a_variable_without_a_value_stays_so():
    def function():
        return later

    copy = sent(function)
    with pytest.raises(NameError):
        copy()
    later = 1
    assert function() == later


def test_what_can_be_imported_is_sent_by_its_name():
    assert sent(math.floor) is math.floor
    assert sent(os.path.join) is os.path.join
    assert b"code" not in pickle.dumps(os.path.join)


def test_the_main_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from tilewright.error import ArgumentError\n"
        "from tilewright.processes.requests import portable\n"
        "SCALE = 3\n"
        "def helper(x):\n"
        "    return x * SCALE\n"
        "def function(x):\n"
        "    return helper(x) + 1\n"
        "class Mine:\n"
        "    pass\n"
        "try:\n"
        "    portable(lambda: Mine(), 'test')\n"
        "except ArgumentError as error:\n"
        "    assert 'the class Mine is defined in the program that was started' in str(error)\n"
        "else:\n"
        "    raise AssertionError\n"
        "import sys\n"
        "sys.stdout.buffer.write(portable(function, 'test'))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    content = subprocess.run(
        [sys.executable, str(program)], env=environment, check=True, capture_output=True
    ).stdout
    assert received(content)(5) == 16


def test_what_cannot_be_sent_is_named():
    stream = open(os.devnull)  # noqa: SIM115
    with stream, pytest.raises(ArgumentError, match=r"test runs in another .*TextIOWrapper"):
        portable(lambda: stream, "test")
