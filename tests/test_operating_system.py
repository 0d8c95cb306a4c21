"""Nothing but measuring candidates needs a POSIX system, and nothing needs Linux."""

import ast
import os
import re
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


def test_modules_that_not_all_systems_have_are_imported_in_one_place_only():
    names = {"_winapi", "fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "syslog",
             "termios", "tty", "winreg"}  # fmt: skip
    mentions = re.compile("|".join(names))  # parsing all files takes seconds
    files = {
        path.relative_to(ROOT / "src" / "tilewright").as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if mentions.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Import) and names & {alias.name for alias in node.names})
        or (isinstance(node, ast.ImportFrom) and node.module in names)
    }
    assert files == {"operating_system.py"}


WITHOUT_LINUX = """
import builtins, errno, io, os, resource, select, signal

for module, names in {
    os: (
        "copy_file_range", "eventfd", "memfd_create", "pidfd_open", "pipe2", "posix_fadvise",
        "sched_getaffinity", "sched_setaffinity", "splice", "O_DIRECT", "O_PATH",
    ),
    resource: ("prlimit", "RUSAGE_THREAD"),
    select: ("epoll",),
    signal: ("sigtimedwait", "sigwaitinfo", "SIGPWR", "SIGRTMIN", "SIGSTKFLT"),
}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

def without_linux(function):
    def replacement(path=".", *arguments, **options):
        if str(path).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(errno.ENOENT, "there is no such file", str(path))
        return function(path, *arguments, **options)
    return replacement

builtins.open = io.open = without_linux(open)
for name in ("listdir", "open", "scandir", "stat"):
    setattr(os, name, without_linux(getattr(os, name)))
"""
"""What each process starts with."""
TUNE = """
import os

import numpy as np
from tilewright import meta_schedule as ms, te
import tilewright as tvm

assert not hasattr(os, "sched_getaffinity")
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: te.exp(A[i, j]), name="B")
program, target = te.create_prim_func([A, B]), "llvm -num-cores=1"
database = ms.tune_tir(program, target, work_dir="tuned", max_trials_global=2)
best = ms.tir_integration.compile_tir(database, program, target)
a, b = np.ones((64, 64), "float32"), np.empty((64, 64), "float32")
tvm.build(best.mod, target=target)(a, b)
np.testing.assert_allclose(b, np.exp(a), rtol=1e-5)
assert len(database.get_all_tuning_records()) >= 2
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork()")
def test_tuning_needs_nothing_that_only_linux_has(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_LINUX)
    found = subprocess.run(
        [sys.executable, "-c", TUNE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "2/2 trials" in found.stderr


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
