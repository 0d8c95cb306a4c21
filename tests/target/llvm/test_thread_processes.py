"""The thread pool in processes that fork, spawn and end, and in libraries."""

import _ctypes
import ctypes
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.target.llvm.programs import native, over_pointers
from tests.target.llvm.test_parallel import expected, scaled_copy

from tilewright.ir import IRModule
from tilewright.runtime.linking import link_shared
from tilewright.target import Target
from tilewright.target.codegen.llvm import compile_module
from tilewright.target.codegen.llvm.compile import machine_for, optimised, parse
from tilewright.target.codegen.llvm.helper_functions import pool_text
from tilewright.target.codegen.llvm.jit import load
from tilewright.target.codegen.llvm.support import ObjectUnit

ROOT = Path(__file__).parents[3]

CHILD = """
import os, sys, warnings
import numpy as np
from tests.target.llvm.test_parallel import expected, native, parallel, scaled_copy
parallel.LEAST_WORK = 0
warnings.simplefilter("ignore")
run = native(scaled_copy())
a, c = np.arange(4096, dtype="float32"), np.zeros(4096, "float32")
def works():
    c[:] = 0
    return run(a, c, 2.0, 4096) == 0 and np.allclose(c, expected(a, 2.0))
def workers():
    return len(os.listdir("/proc/self/task"))
"""


def in_python(code, **environment):
    """Output of a fresh interpreter that has `CHILD` and then `code`."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    variables = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **environment}
    result = subprocess.run(
        [sys.executable, "-c", CHILD + code],
        env=variables, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_a_forked_process_has_threads_of_its_own():
    code = """
assert works()
for generation in range(3):
    pid = os.fork()
    if pid == 0:
        ok = works() and works() and workers() == 3
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert works()
print("good")
"""
    assert in_python(code, TILEWRIGHT_NUM_THREADS="3") == ["good"]


def test_idle_workers_sleep():
    code = """
import time
assert works()
time.sleep(0.1)
start = time.process_time()
time.sleep(0.5)
print(time.process_time() - start < 0.1, works())
"""
    assert in_python(code, TILEWRIGHT_NUM_THREADS="4") == ["True", "True"]


def twice_in_a_child(queue):
    a, c = np.arange(99999, dtype="float32"), np.zeros(99999, "float32")
    run = native(scaled_copy())
    queue.put(all(run(a, c, 2.0, 99999) == 0 for _ in range(2)) and np.allclose(c, a * 3))


def test_processes_of_multiprocessing():
    code = """
import multiprocessing
from tests.target.llvm.test_thread_processes import twice_in_a_child
assert works()
for method in ("fork", "spawn"):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=twice_in_a_child, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    assert process.exitcode == 0
"""
    assert in_python(code, TILEWRIGHT_NUM_THREADS="3") == ["True"] * 2


def test_a_process_that_is_forked_while_a_loop_runs():
    code = """
import threading
stop = False
def work():
    while not stop:
        assert works()
thread = threading.Thread(target=work)
thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        b, d = np.arange(4096, dtype="float32"), np.zeros(4096, "float32")
        os._exit(0 if run(b, d, 2.0, 4096) == 0 and np.allclose(d, expected(b, 2.0)) else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
thread.join()
print("good")
"""
    assert in_python(code, TILEWRIGHT_NUM_THREADS="3") == ["good"]


def test_a_forked_process_asks_again_what_it_may_use():
    code = """
import tilewright as tvm
before = tvm.runtime.num_threads()
pid = os.fork()
if pid == 0:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os._exit(tvm.runtime.num_threads())
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), before == len(os.sched_getaffinity(0)))
"""
    assert in_python(code, TILEWRIGHT_NUM_THREADS="") == ["1", "True"]


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "threading.Thread(target=works).start()"])
def test_processes_end_while_workers_wait(end):
    for _ in range(3):
        assert in_python(f"import threading\nassert works()\nprint('good')\n{end}") == ["good"]


# --- libraries ------------------------------------------------------------------------------------


def library(path, *names):
    """A shared library of copies of one function, each with a pool of its own."""
    objects = []
    for name in names:
        objects.append(str(path / f"{name}.o"))
        func = scaled_copy().with_attr("global_symbol", name)
        module = IRModule({name: over_pointers(func)})
        Path(objects[-1]).write_bytes(compile_module(module, Target("llvm")).object_code())
    link_shared(str(path / "f.so"), objects)
    return ctypes.CDLL(str(path / "f.so"))


def scale(function):
    a, c = np.arange(99999, dtype="float32"), np.zeros(99999, "float32")
    pointers = (ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(c.ctypes.data))
    assert function(*pointers, ctypes.c_float(2.0), 99999) == 0
    np.testing.assert_allclose(c, expected(a, 2.0))


def test_a_library_of_several_objects_with_pools(tmp_path):
    loaded = library(tmp_path, "f", "g")
    for _ in range(5):
        scale(loaded.f)
        scale(loaded.g)


def test_a_library_that_is_closed_keeps_its_workers(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "3")
    loaded = library(tmp_path, "f")
    scale(loaded.f)
    _ctypes.dlclose(loaded._handle)
    time.sleep(0.01)  # they would poll code that is no longer there
    assert str(tmp_path) in Path("/proc/self/maps").read_text()


# --- processors -----------------------------------------------------------------------------------


def leave():
    """The function of the pool by which a worker leaves a processor."""
    text = pool_text(platform.machine()) + (
        "define void @leave(i32 %processor, i32 %threads) {\n"
        "  call void @tilewright.pool.leave(i32 %processor, i32 %threads)\n"
        "  ret void\n"
        "}\n"
    )
    machine = machine_for(Target("llvm"))
    code = machine.emit_object(optimised(parse(text, machine), machine))
    library = load([ObjectUnit(code, (), ())], ["leave"], {})
    function = ctypes.PYFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32)(library["leave"])
    function.library = library
    return function


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_a_thread_leaves_a_processor_that_another_one_needs():
    function, processor = leave(), ctypes.PyDLL(None).sched_getcpu
    allowed = os.sched_getaffinity(0)
    here = min(allowed)
    try:
        os.sched_setaffinity(0, {here})
        function(here, 2)  # it may run nowhere else
        assert processor() == here
        os.sched_setaffinity(0, allowed)
        function(here, len(allowed))
        assert processor() != here
        assert os.sched_getaffinity(0) == allowed
    finally:
        os.sched_setaffinity(0, allowed)
