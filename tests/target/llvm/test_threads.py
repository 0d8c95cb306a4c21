"""The thread pool, without and with loops around it."""

import ctypes
import itertools
import os
import platform
import threading

import numpy as np
import pytest
from tests.target.llvm.programs import native
from tests.target.llvm.test_parallel import expected, scaled_copy

from tilewright.target import cpu
from tilewright.target.codegen.llvm.helper_functions import pool_text
from tilewright.target.codegen.llvm.jit import support_library

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
POOLS = []
"""Pools stay, because their threads do."""


class Pool:
    """A thread pool of its own."""

    def __init__(self, quota_file="/nowhere"):
        text = pool_text(platform.machine(), quota_file)
        library = support_library.__wrapped__(text)
        POOLS.append(library)
        self._run = ctypes.CFUNCTYPE(
            ctypes.c_int32, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64,
            ctypes.c_int64, ctypes.c_int32, ctypes.c_bool,
        )(library["tilewright_parallel"])  # fmt: skip
        self.num_threads = ctypes.CFUNCTYPE(ctypes.c_int32)(library["tilewright_num_threads"])
        self.set_num_threads = ctypes.CFUNCTYPE(None, ctypes.c_int32)(
            library["tilewright_set_num_threads"]
        )

    def run(self, body, begin, end, *, least=1, fine=1 << 40, cores=0, dynamic=False):
        """Run ``body(from, to)`` on parts; True if none failed."""
        wrapped = BODY(lambda _, start, stop: int(body(start, stop) or 0))
        return self._run(wrapped, None, begin, end, least, fine, cores, dynamic) == 0

    def parts(self, begin, end, **options):
        """The parts of a range, in order."""
        found = []
        assert self.run(lambda start, stop: found.append((start, stop)), begin, end, **options)
        return sorted(found)


@pytest.fixture
def pool(request):
    pool = Pool()
    pool.set_num_threads(getattr(request, "param", 4))
    return pool


# --- parts ----------------------------------------------------------------------------------------


def test_static_parts_are_equal_and_none_is_for_nothing(pool):
    assert pool.parts(0, 8) == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert pool.parts(10, 13) == [(10, 11), (11, 12), (12, 13)]
    # Four parts would not end sooner than three.
    assert pool.parts(0, 5) == [(0, 2), (2, 4), (4, 5)]
    assert pool.parts(0, 9, cores=2) == [(0, 5), (5, 9)]
    assert pool.parts(-3, 1) == [(-3, -2), (-2, -1), (-1, 0), (0, 1)]
    assert pool.parts(0, 1) == [(0, 1)]
    assert pool.parts(3, 3) == pool.parts(3, 1) == []


def test_parts_are_not_too_small(pool):
    assert pool.parts(0, 19, least=10) == [(0, 19)]
    assert pool.parts(0, 20, least=10) == [(0, 10), (10, 20)]
    assert pool.parts(0, 100, least=10) == [(0, 25), (25, 50), (50, 75), (75, 100)]
    assert pool.parts(0, 10, least=4, dynamic=True) == [(0, 4), (4, 8), (8, 10)]
    assert pool.parts(0, 4, least=4, dynamic=True) == [(0, 4)]


@pytest.mark.parametrize("pool", [1, 2, 3, 31, 32, 33, 40], indirect=True)
@pytest.mark.parametrize("options", [{}, {"fine": 1}, {"fine": 2}, {"dynamic": True}])
def test_every_iteration_is_in_one_part(pool, options):
    for extent in (1, 2, 31, 32, 33, 64, 100):
        parts = pool.parts(0, extent, **options)
        assert [i for start, stop in parts for i in range(start, stop)] == [*range(extent)]


def test_a_huge_range_has_countable_parts(pool):
    seen = []

    def body(start, stop):
        seen.append((start, stop))
        return 1 if start else 0

    assert not pool.run(body, 0, 1 << 62, dynamic=True)
    assert all(stop - start >= 1 << 31 for start, stop in seen)


def test_each_thread_has_its_own_static_part(pool):
    """All parts run at once, and each runs on the same thread every time."""
    barrier, threads = threading.Barrier(4), [set(), set(), set(), set()]

    def body(start, stop):
        barrier.wait(30)
        threads[start].add(threading.get_native_id())

    for _ in range(20):
        assert pool.run(body, 0, 4)
    assert threads[0] == {threading.get_native_id()}
    assert len(set.union(*threads)) == 4
    assert all(len(own) == 1 for own in threads)


def test_a_thread_has_several_static_parts_if_they_are_not_too_small(pool):
    pool.set_num_threads(2)
    assert len(pool.parts(0, 1000, fine=1)) == 32
    assert pool.parts(0, 1000, fine=200) == [(i, i + 250) for i in range(0, 1000, 250)]
    assert pool.parts(0, 1000, fine=300) == [(0, 500), (500, 1000)]
    assert pool.parts(0, 3, fine=1) == [(0, 2), (2, 3)]
    assert pool.parts(0, 9, fine=1)[:2] == [(0, 2), (2, 3)]
    pool.set_num_threads(5)
    assert len(pool.parts(0, 1000, fine=1)) == 30
    pool.set_num_threads(40)
    assert len(pool.parts(0, 1000, fine=1)) == 40


@pytest.mark.parametrize("pool", [2, 3, 5, 31], indirect=True)
def test_threads_have_about_as_many_iterations(pool):
    """Those of its parts together, whatever the length of these."""
    for extent, fine in ((54, 5), (64, 7), (301, 4), (1 << 61, 1)):
        parts = pool.parts(0, extent, fine=fine)
        threads = len(pool.parts(0, extent))
        each = len(parts) // threads
        bounds = [start for start, _ in parts[::each]] + [extent]
        counts = {after - before for before, after in itertools.pairwise(bounds)}
        assert len(parts) == each * threads
        assert max(counts) - min(counts) <= 1


def test_a_thread_begins_with_its_own_parts(pool):
    """Both begin at once; part 8 of 16 is the first one of the second thread."""
    pool.set_num_threads(2)
    barrier, began = threading.Barrier(2), {}

    def body(start, stop):
        if start in (0, 8):
            began[start] = threading.get_native_id()
            barrier.wait(30)

    for _ in range(20):
        assert pool.run(body, 0, 16, fine=1)
        assert began[0] == threading.get_native_id() != began[8]


@pytest.mark.parametrize(
    "options", [{"dynamic": True}, {"fine": 1}], ids=["dynamic", "static with several parts"]
)
def test_parts_balance(pool, options):
    """While one part takes all its time, the other thread does all the others."""
    others, waited = threading.Semaphore(0), []

    def body(start, stop):
        if start == 0:
            waited.append(all(others.acquire(timeout=30) for _ in range(15)))
        else:
            others.release()

    pool.set_num_threads(2)
    for _ in range(5):
        assert pool.run(body, 0, 16, **options)
    assert waited == [True] * 5


def test_no_more_threads_work_than_are_allowed(pool):
    assert pool.run(lambda start, stop: None, 0, 100)  # there are workers for more
    threads = set()
    pool.set_num_threads(2)
    for _ in range(20):
        assert pool.run(lambda *_: threads.add(threading.get_native_id()), 0, 50, dynamic=True)
    assert len(threads) <= 2
    assert pool.parts(0, 8) == [(0, 4), (4, 8)]


# --- callers --------------------------------------------------------------------------------------


def test_a_second_caller_does_not_wait_for_the_first(pool):
    """It runs its loop alone while the first one's still runs."""
    started, done = threading.Event(), threading.Event()

    def first(start, stop):
        started.set()
        return 0 if done.wait(30) else 1

    results = []
    caller = threading.Thread(target=lambda: results.append(pool.run(first, 0, 4)))
    caller.start()
    assert started.wait(30)
    threads = []
    assert pool.run(lambda *_: threads.append(threading.get_native_id()), 0, 4)
    done.set()
    caller.join()
    assert threads == [threading.get_native_id()]
    assert results == [True]


def test_several_threads_at_once():
    run = native(scaled_copy())
    wrong = []

    def work(seed):
        a = np.random.default_rng(seed).normal(size=5000).astype("float32")
        for _ in range(100):
            c = np.zeros(5000, "float32")
            if run(a, c, 2.0, 5000) or not np.allclose(c, expected(a, 2.0)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_nested_loop_runs_on_its_own_thread(pool):
    wrong = []

    def inner(start, stop, thread):
        if (start, stop, thread) != (0, 6, threading.get_native_id()):
            wrong.append((start, stop))

    def outer(start, stop):
        here = threading.get_native_id()
        assert pool.run(lambda start, stop: inner(start, stop, here), 0, 6)

    for _ in range(10):
        assert pool.run(outer, 0, 4)
    assert not wrong


def test_after_a_failure_the_parts_that_are_left_are_skipped(pool):
    pool.set_num_threads(2)
    seen = []

    def body(start, stop):
        seen.append(start)
        return 1

    assert not pool.run(body, 0, 1000, dynamic=True)
    assert len(seen) <= 2
    assert pool.parts(0, 2) == [(0, 1), (1, 2)]


# --- how many -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "many", "0", "-2", "1025"])
def test_what_is_no_number_of_threads_is_ignored(text, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", text)
    assert Pool().num_threads() == len(os.sched_getaffinity(0))


def test_the_environment_counts_before_the_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "7")
    limits = tmp_path / "cpu.max"
    limits.write_text("100000 100000")
    pool = Pool(str(limits))
    assert pool.num_threads() == 7
    assert len(pool.parts(0, 7)) == 7
    # It is asked once.
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "5")
    assert pool.num_threads() == 7


def test_what_is_set_counts_before_the_environment(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "7")
    pool = Pool()
    pool.set_num_threads(3)
    assert pool.num_threads() == 3
    assert len(pool.parts(0, 9)) == 3
    assert len(pool.parts(0, 9, cores=2)) == 2
    pool.set_num_threads(0)
    assert pool.num_threads() == 7


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000", None), ("100000 100000", 1), ("150000 100000", 2), ("1 100000", 1),
     ("0 0", None), ("much", None), ("", None)],
)  # fmt: skip
def test_limits_of_a_container(text, cores, monkeypatch, tmp_path):
    monkeypatch.delenv("TILEWRIGHT_NUM_THREADS", raising=False)
    limits = tmp_path / "cpu.max"
    limits.write_text(text)
    available = len(os.sched_getaffinity(0))
    assert Pool(str(limits)).num_threads() == min(available, cores or available)
    assert cpu.quota(str(limits)) == cores


def test_affinity_limits_the_threads(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_NUM_THREADS", raising=False)
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert Pool().num_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
