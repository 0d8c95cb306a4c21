"""Processes that help to compile, and what may go wrong with them."""

import os
import sys
import time
from pathlib import Path

import pytest
from tests.driver import odd_workers
from tests.driver.odd_workers import fail, give_what_cannot_be_sent, tell, warn

import tilewright as tvm
from tilewright import te, tir
from tilewright.driver import helpers
from tilewright.driver.compiled_units import compile_units
from tilewright.driver.helpers import Helpers, count_helpers, with_help
from tilewright.ir import GlobalVar
from tilewright.target import Target

HOST = Target("llvm -num-cores=1")


class ReadyHelpers(Helpers):
    """Helpers that have started before anything is done."""

    def __enter__(self):
        entered = super().__enter__()
        end = time.monotonic() + 60
        while self._server and not self._server.is_ready() and time.monotonic() < end:
            time.sleep(0.01)
        return entered


def results(function, items, count=2):
    """The results in the order of the items."""
    with ReadyHelpers(count):
        found = dict(with_help(function, items, HOST))
    return [found[number] for number in range(len(items))]


def others(found):
    """The processes that gave results, but for this one."""
    return {process for process, *_ in found} - {os.getpid()}


def test_all_processes_do_a_part():
    found = results(tell, range(24))
    assert [item for _, item, *_ in found] == list(range(24))
    assert {target for _, _, target, _ in found} == {str(HOST)}
    assert len(others(found)) == 2
    assert os.getpid() in {process for process, *_ in found}


def test_options_hold_in_other_processes():
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        found = results(tell, range(12), count=1)
    assert others(found)
    assert not any(is_vectorized for *_, is_vectorized in found)


def test_passes_that_are_watched_run_here():
    with tvm.transform.PassContext(instruments=[tvm.ir.instrument.PassTimingInstrument()]):
        assert not others(results(tell, range(6), count=1))


def test_few_items_are_done_here():
    assert not others(results(tell, range(3), count=1))


def test_one_job_after_the_other():
    with ReadyHelpers(1):
        first = with_help(tell, range(20), HOST)
        for _ in range(5):
            next(first)
        found = dict(with_help(tell, range(100, 112), HOST))
        again = dict(with_help(tell, range(200, 212), HOST))
    assert sorted(item for _, item, *_ in found.values()) == list(range(100, 112))
    assert sorted(item for _, item, *_ in again.values()) == list(range(200, 212))


def test_no_process_is_left():
    with ReadyHelpers(2) as entered:
        found = with_help(tell, range(100), HOST)
        seen = others(result for _, result in (next(found) for _ in range(20)))
        server = entered._server._process
    assert len(seen) == 2
    assert server.poll() is not None
    for process in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


# --- processes that are of no help ----------------------------------------------------------


@pytest.mark.parametrize("name", ["dying", "silent", "babbling"])
def test_what_processes_do_not_do_is_done_here(monkeypatch, name):
    monkeypatch.setattr(helpers, "ROLE", f"{odd_workers.__name__}:{name}")
    monkeypatch.setattr(helpers, "PATIENCE", 0.3)
    found = results(tell, range(10))
    assert [item for _, item, *_ in found] == list(range(10))
    assert not others(found)


def test_a_process_that_is_killed_costs_its_help_only():
    with ReadyHelpers(1) as entered:
        found = {}
        for number, result in with_help(tell, range(30), HOST):
            found[number] = result
            if len(found) == 6:
                (child,) = entered._busy
                os.kill(child.pid, 9)
    assert sorted(found) == list(range(30))
    assert len(others(found.values())) == 1


def test_a_fork_server_that_does_not_start_costs_its_help_only(monkeypatch):
    for program in ("/bin/false", "/no/such/program"):
        monkeypatch.setattr(sys, "executable", program)
        assert not others(results(tell, range(6)))


def test_children_that_do_not_start_cost_their_help_only(monkeypatch):
    def fails():
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", fails)  # the directory was removed
    assert not others(results(tell, range(6)))


def test_places_of_modules_that_are_no_text_are_left_out(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/no/such/directory")])
    assert others(results(tell, range(12), count=1))


@pytest.mark.parametrize("name", ["target_facts", "package_fingerprint"])
def test_another_machine_or_package_is_of_no_help(monkeypatch, name):
    monkeypatch.setattr(helpers, name, lambda *_: ("another",))
    assert not others(results(tell, range(6)))


def test_what_cannot_be_sent_stays_here():
    assert not others(results(give_what_cannot_be_sent, range(6)))
    unknown = [lambda: 1] * 6
    assert [item for _, item, *_ in results(tell, unknown)] == unknown


# --- errors and warnings ---------------------------------------------------------------------


def test_errors_are_raised_here():
    with pytest.raises(ValueError, match="three"):
        results(fail, range(12))


def test_warnings_come_here():
    with pytest.warns(RuntimeWarning, match="three") as caught:
        found = results(warn, range(12))
    assert len(caught) == 1
    assert len(found) == 12


def scaled(number):
    """A tensor program of its own for each number."""
    A = te.placeholder((64 + number,), "float32", name="A")
    B = te.compute(A.shape, lambda i: A[i] * float(number), name="B")
    return te.create_prim_func([A, B]).without_attr("global_symbol")


def broken():
    """A program that cannot be compiled."""
    return scaled(0).with_body(tir.Evaluate(tir.Var("nowhere", "int32")))


def units_of(functions, count):
    names = {GlobalVar(name): function for name, function in functions.items()}
    with ReadyHelpers(count):
        return compile_units(tvm.IRModule(functions), names, HOST, None)


def test_compilers_raise_the_same_errors_with_help():
    functions = {"bad": broken()} | {f"scaled{number}": scaled(number) for number in range(4)}
    errors = []
    for count in (1, 0):
        with pytest.raises(ValueError, match="variable nowhere is not bound") as caught:
            units_of(functions, count)
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    assert errors[0].origin == errors[1].origin


def test_units_are_the_same_with_help():
    functions = {f"scaled{number}": scaled(number) for number in range(6)}
    with_others, alone = units_of(functions, 1), units_of(functions, 0)
    assert with_others == alone
    assert list(with_others) == list(alone)  # the order of what is linked, too


# --- when there are processes ----------------------------------------------------------------


def test_processes_are_for_large_programs_and_several_cores(monkeypatch):
    monkeypatch.setattr(helpers, "usable_cores", lambda: 4)
    assert [count_helpers(steps) for steps in (0, 31, 32, 64, 1000)] == [0, 0, 1, 2, 3]
    monkeypatch.setattr(helpers, "usable_cores", lambda: 1)
    assert count_helpers(1000) == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_a_process_on_one_core_has_no_help():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert count_helpers(1000) == 0
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_program_with_an_interpreter_in_it_is_not_started(monkeypatch):
    monkeypatch.setattr(helpers, "usable_cores", lambda: 4)
    for executable in ("/usr/bin/editor", "", None):
        monkeypatch.setattr(sys, "executable", executable)
        assert count_helpers(1000) == 0
