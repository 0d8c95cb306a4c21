"""The default schedule as a member of the space."""

import pytest
from tests.tune.programs import matmul, scale_and_shift
from tests.tune.search.fakes import tile

import tilewright as tvm
from tilewright.ir import assert_structural_equal, structural_hash
from tilewright.tune.context import TuneContext
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.mutator import Mutator
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import PostOrderApply, SpaceGeneratorUnion

STRATEGIES = ["evolutionary", "replay-trace", "replay-func", "grid", "local", "genetic", "droplet"]


def context_of(mod, strategy="evolutionary", space="post-order-apply", target="llvm -num-cores=2"):
    return TuneContext(
        mod, target=target, space_generator=space, search_strategy=strategy, rand_state=1
    )


def begun(context, database=None):
    context.pre_tuning(64, 8, None, database, None)
    return context


def test_it_is_the_first_sketch():
    context = context_of(matmul)
    first, *others = context.generate_design_space()
    assert first is context.default_schedule
    assert others
    assert_structural_equal(first.mod, tvm.default_schedule(context.mod, context.target).mod)


@pytest.mark.parametrize("mod", [matmul, scale_and_shift])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_is_measured_first_as_it_is(mod, strategy):
    context = begun(context_of(mod, strategy))
    (first,) = context.generate_measure_candidates()
    assert first.is_default
    assert_structural_equal(first.sch.mod, context.default_schedule.mod)
    hashes = {structural_hash(first.sch.mod)}
    for _ in range(2):
        for candidate in context.generate_measure_candidates() or ():
            assert not candidate.is_default
            code = structural_hash(candidate.sch.mod)
            assert code not in hashes, "it is measured once"
            hashes.add(code)


def test_its_record_replays():
    context = begun(context_of(matmul))
    (first,) = context.generate_measure_candidates()
    database = MemoryDatabase()
    workload = database.commit_workload(context.mod)
    record = TuningRecord(first.sch.trace, workload, [1.0], context.target, is_default=True)
    again = TuningRecord.from_json(record.as_json(), workload)
    assert again.is_default
    assert "default schedule" in repr(again)
    assert_structural_equal(again.schedule().mod, context.default_schedule.mod)
    database.commit_tuning_record(again)
    assert_structural_equal(database.query_ir_module(matmul), context.default_schedule.mod)
    # It is measured in each run, to be there when the best one is compared with it.
    (first,) = begun(context_of(matmul), database).generate_measure_candidates()
    assert first.is_default


def test_mutators_leave_it_alone_or_decide_anew():
    context = begun(context_of(matmul))
    (first,) = context.generate_measure_candidates()
    for mutator in Mutator.create("llvm"):
        mutator.initialize_with_tune_context(context)
        changed = mutator.apply(first.sch.trace, 1)
        assert changed is None or changed is not first.sch.trace


def test_what_is_a_users_own_space():
    class Nothing(tvm.meta_schedule.postproc.PyPostproc):
        def apply(self, sch):
            return True

    spaces = [tile, PostOrderApply(sch_rules=[]), PostOrderApply(postprocs=[Nothing()]),
              PostOrderApply(f_block_filter=lambda block: True)]  # fmt: skip
    for space in spaces:
        context = begun(context_of(matmul, space=space))
        assert not any(c.is_default for c in context.generate_measure_candidates())


def test_a_union_has_it_once():
    union = SpaceGeneratorUnion([PostOrderApply(), tile, PostOrderApply()])
    context = context_of(matmul, space=union)
    sketches = context.generate_design_space()
    assert sum(sketch is context.default_schedule for sketch in sketches) == 1


def test_no_default_schedule_where_there_is_none():
    strategy = SearchStrategy.create("replay-trace")
    assert TuneContext(None, search_strategy=strategy).default_schedule is None
