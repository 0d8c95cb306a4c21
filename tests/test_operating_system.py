"""Nothing but measuring candidates needs a POSIX system: the rest works without its modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright import operating_system
from tilewright.tune.database.line_file import LineFile

ROOT = Path(__file__).parents[1]

WITHOUT_POSIX = """
import getpass, importlib, mmap, multiprocessing, os, pkgutil, signal, socket, subprocess, sys
import tempfile, warnings
import islpy, llvmlite.binding, numpy as np, rich.live

sys.modules["torch"] = None  # it takes seconds to import
import tvm_ffi

for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in (
    "fork", "getuid", "geteuid", "nice", "pread", "sched_getaffinity", "sched_setaffinity",
    "sysconf", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
):
    delattr(os, name)
os.supports_dir_fd.clear()
for name in ("SIGBUS", "SIGKILL", "SIGPROF", "SIGXCPU"):
    delattr(signal, name)

import tilewright as tvm

for module in pkgutil.walk_packages(tvm.__path__, "tilewright."):
    if not module.name.endswith(("__main__", "relay")) and "frontend.torch" not in module.name:
        importlib.import_module(module.name)

from tilewright import meta_schedule as ms, relax, te

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: te.exp(A[i, j]), name="B")
program = te.create_prim_func([A, B])
function = tvm.build(program, target="llvm -num-cores=1")
a, b = np.ones((64, 64), "float32"), np.empty((64, 64), "float32")
function(a, b)
np.testing.assert_allclose(b, np.exp(a), rtol=1e-5)

builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.op.add(x, x)))
built = relax.build(builder.get(), target="llvm -num-cores=1")
y = relax.VirtualMachine(built)["main"](np.ones((4, 4), "float32")).numpy()
assert (y == 2).all()

try:
    ms.tune_tir(program, "llvm", work_dir="tuned", max_trials_global=1)
except tvm.TVMError as error:
    print(error)
"""


def test_without_posix_everything_but_measuring_works(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "measuring candidates needs a system with fork()" in found.stdout


class ByteLocks:
    """The locks of another system: each is of one byte, at the position of the file."""

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self):
        self.positions = []

    def locking(self, file, mode, count):
        self.positions.append((mode, os.lseek(file, 0, os.SEEK_CUR), count))


def test_files_of_lines_with_locks_of_bytes(tmp_path, monkeypatch):
    locks = ByteLocks()
    monkeypatch.setattr(operating_system, "fcntl", None)
    monkeypatch.setattr(operating_system, "_msvcrt", locks)
    monkeypatch.delattr(os, "pread")
    file = LineFile(tmp_path / "lines.json")
    file.append([b"[1]"])
    other = LineFile(tmp_path / "lines.json")
    assert [line.text for line in other.append([b"[2]"])] == [b"[1]"]
    assert [line.text for line in file.read_new()] == [b"[2]"]
    assert [mode for mode, _, _ in locks.positions] == [ByteLocks.LK_LOCK] * 3
    assert min(position for _, position, _ in locks.positions) > 2**39


def test_a_lock_that_another_has_is_an_error_without_waiting(tmp_path):
    path = tmp_path / "file"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    operating_system.lock(first, exclusive=True)
    with pytest.raises(BlockingIOError):
        operating_system.lock(second, exclusive=True, wait=False)
    os.close(first)
    operating_system.lock(second, exclusive=True, wait=False)
    os.close(second)
