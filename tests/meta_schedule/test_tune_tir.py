"""`tune_tir` in both of its forms, with parts that only pretend to measure."""

from __future__ import annotations

import pytest
from tests.tune.fakes import Count, OneSketch, PaperBuilder, PaperRunner, program
from tests.tune.made_up_times import paper_option
from tests.tune.programs import matmul
from tests.tune.search.fakes import tile

from tilewright import meta_schedule as ms
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    TargetError,
    TuningError,
    UnknownNameError,
)
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.scheduler.finalists import NOISE

TARGET = "llvm -num-cores=1"


class Counts(Count):
    """Count, for each task anew."""

    def clone(self):
        return Counts(self.available)


@pytest.fixture
def fake(tmp_path):
    return {
        "builder": PaperBuilder(tmp_path),
        "runner": PaperRunner(),
        "space": OneSketch(),
        "strategy": Counts(5),
        "database": ms.database.MemoryDatabase(),
        "cost_model": "none",
        "work_dir": str(tmp_path / "work"),
    }


def test_the_new_form_returns_the_database(fake):
    func = program()
    database = ms.tune_tir(func, TARGET, max_trials_global=6, **fake)
    assert database is fake["database"]
    best = ms.tir_integration.compile_tir(database, func, TARGET)
    assert isinstance(best, Schedule)
    assert int(best.mod["main"].body.block.body.body.extent) == 5
    assert ms.tir_integration.compile_tir(database, program(32), TARGET) is None


def test_each_function_of_a_module_gets_its_schedule(fake, caplog):
    def mod(*sizes):
        names = [f"f{size}" for size in sizes]
        return IRModule({name: program(n) for name, n in zip(names, sizes, strict=True)})

    database = ms.tune_tir(mod(32, 64), TARGET, max_trials_global=10, **fake)
    best = ms.tir_integration.compile_tir(database, mod(16, 32, 64), TARGET)
    assert "2 of 3 tasks matched (nothing for f16)" in caplog.text
    assert [var.name_hint for var in best.mod.functions] == ["f16", "f32", "f64"]
    extents = [int(best.mod[name].body.block.body.body.extent) for name in ("f32", "f64")]
    assert extents == [5, 5]


def test_the_old_form_returns_the_schedule(fake, tmp_path):
    func = program().with_attr("global_symbol", "linear0")
    config = ms.TuneConfig(max_trials_global=6, num_trials_per_iter=3)
    sch = ms.tune_tir(
        mod=IRModule.from_expr(func.with_attr("global_symbol", "main")),
        target=TARGET, config=config, task_name="renamed", **fake,
    )  # fmt: skip
    assert int(sch.mod["main"].body.block.body.body.extent) == 5
    assert (tmp_path / "work/logs/tvm.meta_schedule.logging.task_0_renamed.log").exists()
    work_dir = fake.pop("work_dir")
    again = ms.tune_tir(func, TARGET, config, work_dir, **fake)
    assert int(again.mod["main"].body.block.body.body.extent) == 5


def test_each_function_is_a_task(fake, tmp_path):
    module = IRModule(
        {
            "b": program(16).with_attr("global_symbol", "b"),
            "a": program(32).with_attr("global_symbol", "a"),
        }
    )
    special = {"b": OneSketch()}
    database = ms.tune_tir(module, TARGET, max_trials_global=20, special_space=special, **fake)
    names = [r.task_name for r in database.get_all_tuning_records() if not r.supersedes]
    assert sorted(names) == ["a"] * 5 + ["b"] * 5
    for func in module.functions.values():
        assert ms.tir_integration.compile_tir(database, func, TARGET) is not None
    with pytest.raises(ArgumentError, match=r"special_space is for \['c'\], but the functions"):
        ms.tune_tir(module, TARGET, max_trials_global=2, special_space={"c": OneSketch()}, **fake)


@pytest.mark.parametrize(
    "strategy", ["evolutionary", "genetic", "droplet", "local", "random", "replay-func", "grid"]
)
def test_strategies_by_name(strategy, tmp_path):
    space = ms.space_generator.SpaceGeneratorUnion([tile, "post-order-apply"])
    database = ms.tune_tir(
        matmul, TARGET, None, 8, database="memory", strategy=strategy, cost_model="none", seed=1,
        space=space, num_trials_per_iter=4, **paper_option(tmp_path),
    )  # fmt: skip
    trials = [r for r in database.get_all_tuning_records() if not r.supersedes]
    assert len(trials) == len({record.candidate_key for record in trials})
    # A descent is over where no neighbour is faster, which depends on the machine.
    assert len(trials) == 8 or (strategy == "droplet" and 4 <= len(trials) < 8)
    assert [record.is_default for record in trials] == [True] + [False] * (len(trials) - 1)
    best = min(r.mean_secs for r in trials)
    found = database.query_tuning_record(matmul, TARGET)
    # The default schedule stays where the best one is faster by noise only.
    assert found.mean_secs == best or (found.is_default and (1 - NOISE) * found.mean_secs < best)


def test_a_seed_repeats_the_choices(fake):
    class Seeds(Counts):
        found = ()

        def clone(self):
            return Seeds(1)

        def initialize_with_tune_context(self, context):
            super().initialize_with_tune_context(context)
            Seeds.found += (context.rand_state,)

    fake["strategy"] = Seeds(1)
    for seed in (7, 7, 8):
        ms.tune_tir(program(), TARGET, max_trials_global=1, seed=seed, **fake)
    first, second, third = Seeds.found
    assert first == second != third


def test_all_candidates_fail(fake):
    fake["runner"] = PaperRunner(lambda factor: "it crashed")
    with pytest.raises(TuningError, match="5 x run, for example:\n    it crashed"):
        ms.tune_tir(program(), TARGET, max_trials_global=8, **fake)


def test_wrong_arguments(fake):
    def tune(**given):
        arguments = {"mod": program(), "target": TARGET, "max_trials_global": 1, **fake, **given}
        return ms.tune_tir(**arguments)

    with pytest.raises(ArgumentError, match="give `max_trials_global`, or in old programs"):
        tune(max_trials_global=None)
    with pytest.raises(ArgumentError, match="give `max_trials_global`, or in old programs"):
        tune(config=ms.TuneConfig(3))
    with pytest.raises(ArgumentValueError, match="max_trials_global is at least 1, got 0"):
        tune(max_trials_global=0)
    with pytest.raises(ArgumentError, match="max_trials_global is an integer, got 'many'"):
        tune(max_trials_global="many")
    with pytest.raises(ArgumentError, match="expected an IRModule or a PrimFunc, got 3"):
        tune(mod=3)
    with pytest.raises(ArgumentError, match="no tensor program"):
        tune(mod=IRModule())
    with pytest.raises(TargetError, match="no target kind 'lvm'"):
        tune(target="lvm")
    for name, text in (
        ("builder", "builder 'here'"),
        ("runner", "runner 'here'"),
        ("strategy", "search strategy 'here'"),
        ("space", "space generator 'here'"),
        ("task_scheduler", "task scheduler 'here'"),
        ("measure_callbacks", "measure callbacks 'here'"),
    ):
        with pytest.raises(UnknownNameError, match=text):
            tune(**{name: "here"})
    for name in ("cost_model", "database"):
        with pytest.raises(ArgumentValueError, match="'here'"):
            tune(**{name: "here"})


def test_targets_that_cannot_be_measured_here(fake):
    del fake["runner"]
    for target, text in (
        ("vulkan", "candidates for 'vulkan' cannot be measured on this machine"),
        ("llvm -mtriple=riscv64-linux-gnu", "code for 'riscv64-linux-gnu' does not run on this"),
    ):
        with pytest.raises(TargetError, match=text):
            ms.tune_tir(program(), target, max_trials_global=1, **fake)


def test_records_in_files_need_a_directory(fake):
    fake |= {"database": "json", "work_dir": None}
    with pytest.raises(ArgumentValueError, match="'json' needs a `work_dir`"):
        ms.tune_tir(program(), TARGET, max_trials_global=1, **fake)


def test_one_task_with_a_database_in_memory_and_no_directory(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake["work_dir"] = None
    ms.tune_tir(program(), TARGET, max_trials_global=2, **fake)
    assert not list(tmp_path.iterdir())


def test_a_seed_repeats_the_scores_of_a_random_model(fake):
    class Asking(Counts):
        def pre_tuning(self, *args):
            super().pre_tuning(*args)
            scores.append(list(args[-1].predict(None, range(3))))

        def clone(self):
            return Asking()

    scores = []
    fake.update(strategy=Asking(), cost_model="random")
    for seed in (1, 1, 2):
        ms.tune_tir(program(), TARGET, max_trials_global=1, seed=seed, **fake)
    assert scores[0] == scores[1] != scores[2]


def test_an_empty_list_of_callbacks_is_none_at_all(fake):
    database = ms.tune_tir(program(), TARGET, max_trials_global=3, measure_callbacks=[], **fake)
    assert len(database) == 0
