"""How code for devices is measured, on tiny works."""

import sys

import numpy as np
import pytest
from benchmarks.gpu import child, command
from benchmarks.gpu.child import Record, Request, interleaved, measure, ratios
from benchmarks.gpu.works import ON_A_GPU, TINY, WITHOUT_ONE, chosen, works
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation


@pytest.mark.parametrize("part", ["matmul 16x16x16", "softmax"])
def test_a_work_beside_a_thread_for_each_element(part):
    (work,) = chosen(works(TINY, half=False), [part])
    record = measure(Request(work.name, "opencl", "tiny", rounds=3, seconds=0))
    assert not record.problem
    assert record.error < 1e-5
    assert len(record.ours) == len(record.theirs) == 3
    assert record.aim == record.least == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
@pytest.mark.parametrize("part", ["matmul 16x16x16 float16", "conv2d", "sum of columns"])
def test_a_work_on_an_emulated_gpu(monkeypatch, part):
    use_emulation(monkeypatch, EmulatedCuda())
    work = chosen(works(TINY, half=True), [part])[0]
    monkeypatch.setattr(child, "torch_run", lambda work, inputs: lambda: work.reference(*inputs))
    record = measure(Request(work.name, "cuda", "tiny", rounds=3, seconds=0))
    assert not record.problem
    assert record.least > 0
    assert record.aim == work.aim
    row = command.cells(record)
    assert row[6].endswith("%")
    assert row[7].split()[1] in ("met", "missed")


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_torch_that_is_missing_leaves_our_time(monkeypatch):
    use_emulation(monkeypatch, EmulatedCuda())
    monkeypatch.setitem(sys.modules, "torch", None)
    record = measure(Request(f"transposition {TINY.rows[0]}x{TINY.rows[1]} float32", "cuda", "tiny",
                             rounds=3, seconds=0))  # fmt: skip
    assert len(record.ours) == 3
    assert "torch" in record.problem
    assert "torch" in command.row_text(record)


def test_a_wrong_result_is_not_timed(monkeypatch):
    monkeypatch.setitem(child.ERRORS, "float32", -1.0)
    record = measure(Request("sum of rows 8x64 float32", "opencl", "tiny", rounds=3))
    assert record.problem.startswith("ValueError: WRONG RESULT: off by ")
    assert not record.ours


def test_a_row_that_fails_costs_itself_alone(monkeypatch, capsys):
    measured = {"sum of rows": [2e-3, 3e-3], "sum of all": []}

    def in_a_process(request, limit):
        (ours,) = (times for name, times in measured.items() if request.work.startswith(name))
        peers = [2 * seconds for seconds in ours]
        problem = "" if ours else "took longer than 300 s"
        return Record(request.work, "default", "a peer", ours, peers, problem=problem)

    monkeypatch.setattr(command, "in_a_process", in_a_process)
    command.main(["--device", "opencl", "--sizes", "tiny", "--only", *measured])
    text = capsys.readouterr().out
    assert text.startswith("THIS IS NO GPU: ")
    assert "2.00" in text
    assert "took longer than 300 s" in text


def test_a_process_that_ends_is_told():
    record = command.in_a_process(Request("no such work", "nowhere", "tiny"), limit=100)
    assert record.problem
    assert not record.ours
    record = command.in_a_process(Request("no such work", "opencl", "tiny"), limit=0.01)
    assert record.problem == "took longer than 0.01 s"


def test_sides_take_turns():
    order = []
    runs = [lambda side=side: order.append(side) for side in "ab"]
    samples = interleaved(runs, [lambda: None] * 2, rounds=3, seconds=0)
    assert [len(side) for side in samples] == [3, 3]
    assert "".join(order[-6:]) == "abbaab"
    assert ratios(Record("", "", "", [1.0, 1.0, 1.0], [2.0, 2.0, 2.0])) == (2, 2, 2)


@pytest.mark.parametrize("sizes", [ON_A_GPU, WITHOUT_ONE, TINY])
def test_works_say_what_they_read_and_write(sizes):
    found = works(sizes, half=True)
    assert len({work.name for work in found}) == len(found)
    for work in found:
        assert work.bytes >= sum(np.prod(shape) for shape in work.shapes) * 2
