"""Models for other processors: compiled and linked here, run by an emulator without Python."""

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tests.target.emulator import Emulator

from tilewright import relax
from tilewright.runtime.linking import include_directory
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T

SYSTEM_CALL = {
    "aarch64": (
        'register long x8 __asm__("x8") = number; register long x0 __asm__("x0") = a;'
        'register long x1 __asm__("x1") = b; register long x2 __asm__("x2") = c;'
        '__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");'
    ),
    "riscv64": (
        'register long a7 __asm__("a7") = number; register long a0 __asm__("a0") = a;'
        'register long a1 __asm__("a1") = b; register long a2 __asm__("a2") = c;'
        '__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");'
    ),
}
LIBRARY = """
typedef unsigned long size_t;
void call(long number, long a, long b, long c) { %s }
static char memory[1 << 22];
static size_t used;
void *aligned_alloc(size_t to, size_t size) {
  used = (used + to - 1) / to * to;
  void *found = memory + used;
  used += size;
  return used > sizeof memory ? 0 : found;
}
void *malloc(size_t size) { return aligned_alloc(16, size); }
void free(void *p) {}
void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((volatile char *)to)[i] = value;
  return to;
}
char *getenv(const char *name) { return 0; }
int getpid(void) { return 1; }
int dprintf(int file, const char *format, ...) { call(64, file, (long)format, 30); return 0; }
int snprintf(char *to, size_t n, const char *format, ...) { return 0; }
void *fopen(const char *name, const char *mode) { return 0; }
"""
"""What the model calls of the C library."""

ABSENT = [
    "clock_gettime", "fclose", "fscanf", "pthread_create", "pthread_detach", "pthread_sigmask",
    "sched_getaffinity", "sched_getcpu", "sched_setaffinity", "sched_yield", "strtol", "syscall",
]  # fmt: skip
"""The rest of what it calls, for threads: there are none here."""

PROGRAM = """
#include "model.h"
static const float image[] = {%s};
static float scores[%d];
void _start(void) {
  int status = model_main(image, scores, %d);
  call(64, 1, (long)scores, sizeof scores);
  call(93, status, 0, 0);
}
"""


@I.ir_module
class Classifier:
    @R.function
    def main(
        image: R.Tensor(("n", 1, 8, 8), "float32"),
        filters: R.Tensor((4, 1, 3, 3), "float32"),
        weight: R.Tensor((36, 5), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            features = R.nn.relu(R.nn.conv2d(image, filters))
            pooled = R.nn.max_pool2d(features, pool_size=[2, 2], strides=[2, 2])
            flat = R.reshape(pooled, (n, 36))
            scores = R.nn.softmax(R.tanh(R.matmul(flat, weight)))
            R.output(scores)
        return scores


def program_for(machine: str, weights: dict, image: np.ndarray, directory: Path) -> bytes:
    """A statically linked program that writes the scores of `image`."""
    executable = relax.build(
        Classifier, target=f"llvm -mtriple={machine}-linux-gnu", params=weights
    )
    executable.export_library(directory / "model.tar")
    executable.export_header(directory / "model.h")
    with tarfile.open(directory / "model.tar") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            (directory / member.name).write_bytes(content.read())
    absent = "".join(f"long {name}() {{ return -1; }}\n" for name in ABSENT)
    numbers = ", ".join(str(float(value)) for value in image.ravel())
    source = LIBRARY % SYSTEM_CALL[machine] + absent
    (directory / "library.c").write_text(source)
    program = PROGRAM % (numbers, 5 * len(image), len(image))
    (directory / "main.c").write_text("void call(long, long, long, long);\n" + program)
    command = [
        sys.executable, "-m", "ziglang", "cc", f"--target={machine}-linux-musl", "-nostdlib",
        "-static", "-O1", "-fno-builtin", "-fno-sanitize=all", "-w", "-I", include_directory(),
        "library.c", "main.c", *sorted(path.name for path in directory.glob("*.o")), "-o", "model",
    ]  # fmt: skip
    subprocess.run(command, cwd=directory, check=True, timeout=300)
    return (directory / "model").read_bytes()


@pytest.mark.parametrize("machine", SYSTEM_CALL)
def test_a_model_runs_on_another_processor(tmp_path, machine):
    random = np.random.default_rng(0)
    weights = {
        "filters": random.standard_normal((4, 1, 3, 3)).astype("float32"),
        "weight": random.standard_normal((36, 5)).astype("float32"),
    }
    image = random.standard_normal((3, 1, 8, 8)).astype("float32")
    emulator = Emulator(program_for(machine, weights, image, tmp_path), machine)
    assert emulator.run() == 0
    scores = np.frombuffer(emulator.output, "float32").reshape(3, 5)
    here = relax.VirtualMachine(relax.build(Classifier, params=weights))["main"](image)
    np.testing.assert_allclose(scores, here.numpy(), rtol=1e-5)
