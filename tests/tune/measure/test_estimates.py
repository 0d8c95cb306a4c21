"""Tuning for a GPU that is not here: candidates are compiled, and their times estimated."""

import json

import pytest

import tilewright as tvm
from tilewright import auto_scheduler, autotvm, te, tir
from tilewright import meta_schedule as ms
from tilewright.auto_scheduler.measure_record import open_log
from tilewright.autotvm import MeasureInput, MeasureResult
from tilewright.autotvm.measure import EstimatedResult
from tilewright.target import Target
from tilewright.tune.database import JSONDatabase, MemoryDatabase, SQLiteDatabase, TuningRecord
from tilewright.tune.measure import BuilderInput, LocalBuilder
from tilewright.tune.measure.estimate import read_estimate
from tilewright.tune.workload import Workload

pytestmark = pytest.mark.skipif(tvm.cuda(0).exist, reason="candidates are measured on the GPU")

H100 = "nvidia/nvidia-h100"
MACHINE = {"estimate": "analytical model of sm_90a"}


def sums(n=64):
    a = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return [a, te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def test_candidates_are_compiled_and_estimated(tmp_path, caplog):
    func = te.create_prim_func(sums())
    database = ms.tune_tir(
        func, H100, max_trials_global=3, work_dir=tmp_path, cost_model="xgb", report=True
    )
    assert "there is no device 'cuda' here; candidates are compiled, and their" in caplog.text
    records = JSONDatabase(work_dir=tmp_path).get_all_tuning_records()
    assert len(records) == 3
    assert [record.is_default for record in records].count(True) == 1
    assert all(record.is_valid and record.machine == MACHINE for record in records)
    best = min(records, key=lambda record: record.mean_secs)
    assert database.query_tuning_record(func, H100).mean_secs == best.mean_secs
    assert "estimated" in repr(best)
    page = (tmp_path / "report.html").read_text()
    assert "main (estimated)" in page
    assert "analytical model of sm_90a" in page
    sch = ms.tir_integration.compile_tir(database, func, H100)
    assert ".entry main_kernel" in tvm.build(sch.mod, target=H100).imported_modules[0].get_source(
        "ptx"
    )


def test_kernels_are_compiled_for_the_architecture_of_the_target():
    sch = tir.Schedule(te.create_prim_func(sums(256)))
    sch.bind(sch.get_loops("B")[0], "threadIdx.x")
    builder = LocalBuilder(max_workers=1)
    known, unknown = builder.build(
        [BuilderInput(sch.mod, Target(f"cuda -arch={name}")) for name in ("sm_75", "sm_10")]
    )
    builder.close()
    seconds, machine = read_estimate(known.artifact_path)
    assert 1e-6 < seconds < 1e-3
    assert machine == {"estimate": "analytical model of sm_75"}
    assert unknown.error_kind == "build"
    assert "NVRTC has no architecture 'sm_10'" in unknown.error_msg


@pytest.mark.parametrize("kind", ["memory", "json", "sqlite"])
def test_what_was_measured_comes_before_estimates(kind, tmp_path):
    func = te.create_prim_func(sums(8))
    database = {
        "memory": MemoryDatabase,
        "json": lambda: JSONDatabase(work_dir=tmp_path),
        "sqlite": lambda: SQLiteDatabase(tmp_path / "records.sqlite"),
    }[kind]()
    trace = tir.Schedule(func).trace

    def record(seconds, machine=None):
        return TuningRecord(trace, Workload(func), [seconds], Target(H100), machine=machine)

    database.commit_tuning_records([record(1.0, MACHINE), record(3.0), record(2.0, MACHINE)])
    workload = database.commit_workload(func)
    assert [r.run_secs for r in database.get_top_k(workload, 3)] == [[3.0], [1.0], [2.0]]
    assert not database.query_tuning_record(func, H100).is_estimate
    united = ms.database.UnionDatabase(database, MemoryDatabase())
    assert not united.query_tuning_record(func, H100).is_estimate
    pruned = MemoryDatabase()
    database.dump_pruned(pruned)
    assert sorted(r.is_estimate for r in pruned.get_all_tuning_records()) == [False, True]


@autotvm.template("tests/estimated_product")
def product(n):
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s, cfg = te.create_schedule(c.op), autotvm.get_config()
    i, j = s[c].op.axis
    cfg.define_split("tile_i", i, num_outputs=3)
    cfg.define_split("tile_j", j, num_outputs=3)
    by, vy, ty = cfg["tile_i"].apply(s, c, i)
    bx, vx, tx = cfg["tile_j"].apply(s, c, j)
    s[c].reorder(by, bx, vy, vx, ty, tx, s[c].op.reduce_axis[0])
    for axis, name in (
        (by, "blockIdx.y"), (bx, "blockIdx.x"), (vy, "vthread"), (vx, "vthread"),
        (ty, "threadIdx.y"), (tx, "threadIdx.x"),
    ):  # fmt: skip
        s[c].bind(axis, te.thread_axis(name))
    return s, [a, b, c]


def test_a_template(tmp_path):
    log = tmp_path / "log.json"
    task = autotvm.task.create("tests/estimated_product", (32,), H100)
    tuner = autotvm.tuner.RandomTuner(task, seed=1)
    tuner.tune(
        3,
        autotvm.measure_option(builder="local", runner="local"),
        callbacks=[autotvm.callback.log_to_file(str(log))],
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["estimated"] for line in lines] == [True] * 3
    pairs = [*autotvm.record.load_from_file(str(log))]
    assert all(isinstance(result, EstimatedResult) for _, result in pairs)
    best = min(pairs, key=lambda pair: pair[1].mean)[0].config
    with autotvm.apply_history_best(str(log)) as history:
        assert history.query(task.target, task.workload).index == best.index
    other = next(inp.config for inp, _ in pairs if inp.config.index != best.index)
    measured = MeasureInput(task.target, task, other), MeasureResult((9.0,), 0, 0.0, 1.0)
    with autotvm.apply_history_best([*pairs, measured]), Target(H100):
        assert (
            autotvm.DispatchContext.current.query(task.target, task.workload).index == other.index
        )


def test_a_task_of_the_auto_scheduler(tmp_path):
    @auto_scheduler.register_workload("estimated_sums", override=True)
    def estimated_sums(n):
        return sums(n)

    log = str(tmp_path / "log.json")
    task = auto_scheduler.SearchTask(func=estimated_sums, args=(32,), target="cuda")
    context = auto_scheduler.LocalRPCMeasureContext(min_repeat_ms=300)
    task.tune(
        auto_scheduler.TuningOptions(
            num_measure_trials=2,
            runner=context.runner,
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
            verbose=0,
        )
    )
    results = [result for _, result in auto_scheduler.load_records(log)]
    assert [result.is_estimate for result in results] == [True, True]
    sch, args = task.apply_best(log)
    assert "threadIdx.x" in tvm.lower(sch, args).script()
    assert "__global__" in task.print_best(log, print_mode="cuda")
    model = auto_scheduler.XGBModel()
    model.update_from_file(log)  # which learns nothing from estimates
    policy = auto_scheduler.SketchPolicy(
        task, model, init_search_callbacks=[auto_scheduler.PreloadMeasuredStates(log)], verbose=0
    )
    options = auto_scheduler.TuningOptions(
        num_measure_trials=1,
        runner=context.runner,
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
        verbose=0,
    )
    task.tune(options, search_policy=policy)
    known = [record.trace_json for record in open_log(log).get_all_tuning_records()]
    assert len(known) == 3
    assert known[2] not in known[:2]
