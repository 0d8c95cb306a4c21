"""Spaces that functions of te schedules describe, through all of the tuner."""

import contextlib
import json
import math

import pytest
from tests.tune.search.fakes import Tuning, decisions_of

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.error import ArgumentError, ArgumentValueError, RecordError, TEScheduleError
from tilewright.ir.structural import assert_structural_equal, structural_equal
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.context import TuneContext
from tilewright.tune.database import JSONDatabase, MemoryDatabase, SQLiteDatabase, TuningRecord
from tilewright.tune.decision import samplings
from tilewright.tune.mutator import Mutator
from tilewright.tune.search import EvolutionarySearch
from tilewright.tune.space import ScheduleFn, SpaceGenerator, SpaceGeneratorUnion, TEScheduleFn

TARGET = "llvm -num-cores=1"


def product():
    a, b = te.placeholder((8, 12), name="A"), te.placeholder((12, 16), name="B")
    k = te.reduce_axis((0, 12), "k")
    return [a, b, te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


@pytest.fixture(scope="module")
def mod():
    return tvm.IRModule({"main": te.create_prim_func(product())})


def tile(s, a, b, c):
    """A tile with 4 x 5 x 3 candidates."""
    i, j = c.op.axis
    rows = s.sample_perfect_tile(i, 2, -1)
    columns = s.sample_perfect_tile(j, 2, -1)
    depth = s.sample_categorical([2, 3, 4], [1, 1, 1])
    io, jo, ii, ji = s[c].tile(i, j, rows[1], columns[1])
    ko, ki = s[c].split(c.op.reduce_axis[0], depth)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].vectorize(ji)


BEST = ((4, 2), (2, 8), 1)


def seconds_of(sch):
    """How far the decisions of `tile` are from the best ones."""
    rows, columns, depth = decisions_of(sch)
    pairs = (rows, BEST[0]), (columns, BEST[1])
    steps = sum(abs(math.log2(mine[1] / best[1])) for mine, best in pairs)
    return 1e-3 * (1 + steps + abs(depth - BEST[2]))


def sketches_of(generator, mod, seed=1):
    context = TuneContext(mod, target=TARGET, space_generator=generator, rand_state=seed)
    return context.generate_design_space()


# --- the space ----------------------------------------------------------------------------------


def test_the_sketch_samples_and_applies_the_te_schedule(mod):
    (sketch,) = sketches_of(TEScheduleFn(tile), mod)
    assert [inst.kind.name for inst in sketch.trace] == [
        "sample_perfect_tile",
        "sample_perfect_tile",
        "sample_categorical",
        "te.apply_schedule",
    ]
    assert len(samplings(sketch.trace)) == len(sketch.trace.decisions) == 3
    (again,) = sketches_of(TEScheduleFn(tile), mod)
    assert str(again.trace) == str(sketch.trace)
    others = {str(sketches_of(TEScheduleFn(tile), mod, seed)[0].trace) for seed in range(2, 6)}
    assert len(others) > 1


def test_a_function_returns_nothing_a_schedule_or_a_list(mod):
    def one(s, a, b, c):
        tile(s, a, b, c)
        return s

    def several(s, a, b, c):
        tile(s, a, b, c)
        plain = te.create_schedule(c.op)
        plain[c].parallel(c.op.axis[0])
        return [s, plain]

    assert len(sketches_of(TEScheduleFn(one), mod)) == 1
    (tiled, plain) = sketches_of(TEScheduleFn(several), mod)
    assert len(tiled.trace) == 4
    assert plain.trace.as_python()[-1] == "  s[C].parallel(var=i)"


def test_what_is_no_function_of_the_tensors(mod):
    with pytest.raises(ArgumentError, match=r"returns None, a te\.Schedule, or a list.*got 3"):
        sketches_of(TEScheduleFn(lambda s, a, b, c: 3), mod)
    with pytest.raises(ArgumentError, match=r"is called with \(schedule, A, B, C\)"):
        sketches_of(TEScheduleFn(lambda s, c: None), mod)
    with pytest.raises(ArgumentError, match="expected a function"):
        TEScheduleFn(3)


def test_programs_that_are_not_of_tensors(mod):
    (sketch,) = sketches_of(TEScheduleFn(tile), mod)
    with pytest.raises(TEScheduleError, match=r"is not as te\.create_prim_func makes it"):
        sketches_of(TEScheduleFn(tile), sketch.mod)


def test_samples_that_lead_to_a_refusal_are_made_again(mod):
    def fussy(s, a, b, c):
        i, _ = c.op.axis
        parts = s.sample_perfect_tile(i, 2, -1)
        _, ii = s[c].split(i, parts[1])
        if s[c].leaf_iter_vars[1].dom.extent.value < 8:
            s[c].fuse(ii, c.op.reduce_axis[0])

    found = {decisions_of(sketches_of(TEScheduleFn(fussy), mod, seed)[0]) for seed in range(1, 5)}
    assert found == {((1, 8),)}


def test_a_step_within_a_function_of_blocks(mod):
    def space(sch):
        with te.Schedule.within(sch) as s:
            c = s.get_tensor("C")
            i, _, _ = s.get_loops(c)
            s[c].split(i, s.sample_perfect_tile(i, 2, -1)[1])
        steps = sch.sample_categorical([0, 64], [1, 1])
        sch.annotate(sch.get_loops("C_update")[0], "pragma_auto_unroll_max_step", steps)

    (sketch,) = sketches_of(ScheduleFn(space), mod)
    assert [inst.kind.name for inst in sketch.trace if inst.kind.primitive.is_sampling] == [
        "sample_perfect_tile",
        "sample_categorical",
    ]
    tuning = Tuning(EvolutionarySearch(), mod, space, trials=4, seconds=lambda sch: 1.0)
    assert len(set(tuning.decisions)) == 4


def test_names():
    assert isinstance(SpaceGenerator.create("te-schedule-fn", tile), TEScheduleFn)
    assert ms.space_generator.TEScheduleFn is TEScheduleFn
    clone = TEScheduleFn(tile).clone()
    assert isinstance(clone, TEScheduleFn)
    assert clone.sch_fn is tile


# --- the search ---------------------------------------------------------------------------------


def test_the_search_changes_decisions(mod):
    tuning = Tuning(
        EvolutionarySearch(), mod, TEScheduleFn(tile), trials=40, seconds=seconds_of, until=1e-3
    )
    assert len(set(tuning.decisions)) == len(tuning.decisions)
    assert tuning.decisions[-1] == BEST or min(tuning.seconds) == 1e-3
    for sch in tuning.trials[:8]:
        s, args = te.Schedule.from_trace(sch.trace, mod["main"])
        made = schedule_to_prim_func(s, args)
        assert_structural_equal(sch.mod["main"].body, made.body, map_free_vars=True)


def test_mutators_of_the_target_apply(mod):
    context = TuneContext(mod, target=TARGET, space_generator=TEScheduleFn(tile), rand_state=1)
    (sketch,) = context.generate_design_space()
    changed = set()
    for mutator in Mutator.create("llvm"):
        mutator.initialize_with_tune_context(context)
        for seed in range(20):
            found = mutator.apply(sketch.trace, seed)
            if found is not None:
                changed.add(type(mutator).__name__)
                assert found.decisions != sketch.trace.decisions
    assert changed == {"MutateTileSize", "MutateDecision"}


def test_the_default_schedule_is_compared_in_a_union(mod):
    union = SpaceGeneratorUnion([TEScheduleFn(tile), "post-order-apply"])
    tuning = Tuning(EvolutionarySearch(), mod, union, trials=24, seconds=lambda sch: 1.0)
    assert tuning.candidates[0].is_default
    steps = [{inst.kind.name for inst in sch.trace} for sch in tuning.trials]
    assert any("te.apply_schedule" in names for names in steps)
    assert any("te.apply_schedule" not in names for names in steps[1:])


# --- records ------------------------------------------------------------------------------------


def record(mod, database, seconds=1e-3, decisions=BEST):
    (sketch,) = sketches_of(TEScheduleFn(tile), mod)
    trace = sketch.trace
    for inst, decision in zip(samplings(trace), decisions, strict=True):
        taken = list(decision) if isinstance(decision, tuple) else decision
        trace = trace.with_decision(inst, taken)
    workload = database.commit_workload(mod)
    args = ArgInfo.from_entry_func(mod)
    return TuningRecord(trace, workload, [seconds], TARGET, args)


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_records_are_replayed(mod, tmp_path, kind):
    def opened():
        if kind == "json":
            return contextlib.nullcontext(JSONDatabase(work_dir=tmp_path))
        return contextlib.closing(SQLiteDatabase(tmp_path / "records.sqlite"))

    with opened() as database:
        database.commit_tuning_record(record(mod, database))
    with opened() as found:
        sch = found.query_schedule(mod, TARGET)
        assert decisions_of(sch) == BEST
        s, args = te.Schedule.from_trace(sch, product())
        expected = schedule_to_prim_func(s, args)
        assert_structural_equal(sch.mod["main"].body, expected.body, map_free_vars=True)
        (saved,) = found.get_all_tuning_records()
        assert_structural_equal(saved.schedule().mod, sch.mod)
        assert structural_equal(ms.compile_tir(found, mod["main"], TARGET).mod, sch.mod)


def test_a_search_goes_on_where_another_one_ended(mod):
    database = MemoryDatabase()
    first = record(mod, database)
    database.commit_tuning_record(first)
    tuning = Tuning(
        EvolutionarySearch(),
        mod,
        TEScheduleFn(tile),
        trials=6,
        seconds=seconds_of,
        database=database,
    )
    assert BEST not in tuning.decisions


@pytest.mark.parametrize(
    ("place", "value"),
    [(1, "x"), (1, [["te.split", ["C"], [], []]]), (2, {"dict": []}), (2, 3), (0, "other")],
)
def test_damaged_records(mod, place, value):
    database = MemoryDatabase()
    workload = database.commit_workload(mod)
    form = json.loads(json.dumps(record(mod, database).as_json()))
    assert TuningRecord.from_json(form, workload).schedule().mod["main"]
    form["trace"][0][-1][2][place] = value
    saved = TuningRecord.from_json(form, workload)
    if place == 0:  # a trace is about the only function, whatever that was called
        assert saved.schedule().mod["main"]
        return
    with pytest.raises(RecordError, match="the trace of a record does not apply"):
        saved.schedule()
    # A search is not disturbed by it.
    database.commit_tuning_record(saved)
    space = TEScheduleFn(tile)
    Tuning(EvolutionarySearch(), mod, space, trials=2, seconds=seconds_of, database=database)


@pytest.mark.parametrize(
    ("position", "decision", "message"),
    [
        (0, [8], "a decision is a list of 2 positive numbers"),
        (0, [-8, -1], "a decision is a list of 2 positive numbers"),
        (2, 3, "not a position among 3 candidates"),
        (2, "x", "a decision is the position of a candidate"),
    ],
)
def test_decisions_that_are_none(mod, position, decision, message):
    (sketch,) = sketches_of(TEScheduleFn(tile), mod)
    changed = sketch.trace.with_decision(sketch.trace.insts[position], decision)
    with pytest.raises(ArgumentValueError, match=message):
        changed.apply_to_schedule(tvm.tir.Schedule(mod))


def test_decisions_for_other_sizes_are_repaired(mod):
    (sketch,) = sketches_of(TEScheduleFn(tile), mod)
    changed = sketch.trace.with_decision(sketch.trace.insts[0], [5, 6])
    sch = tvm.tir.Schedule(mod)
    changed.apply_to_schedule(sch)
    assert decisions_of(sch)[0] == (4, 2)
