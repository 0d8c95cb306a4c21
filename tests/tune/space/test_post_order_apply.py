"""`PostOrderApply`: which rules are applied to which blocks, and what comes of it."""

import logging

import pytest
from tests.tune.programs import TwoFunctions, matmul, scale_and_shift

from tilewright.error import ArgumentError, ArgumentValueError, TuningError
from tilewright.script import tir as T
from tilewright.tune.context import TuneContext
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.space import PostOrderApply, SpaceGenerator, post_order_apply


class Noting(ScheduleRule):
    """Notes the blocks that it is applied to."""

    def __init__(self):
        self.blocks = []

    def apply(self, sch, block):
        self.blocks.append(sch.get(block).name_hint)
        return [sch]


class Splitting(ScheduleRule):
    """Splits the outermost loop, once for each factor."""

    def __init__(self, *factors):
        self.factors = factors

    def apply(self, sch, block):
        found = []
        if not sch.get_loops(block):
            return [sch]
        for factor in self.factors:
            found.append(sch.copy())
            found[-1].split(found[-1].get_loops(block)[0], [None, factor])
        return found


class Inlining(ScheduleRule):
    """Inlines the block called B."""

    def apply(self, sch, block):
        if sch.get(block).name_hint == "B":
            sch.compute_inline(block)
        return [sch]


def factors_of(sketch):
    splits = [inst for inst in sketch.trace if inst.kind.name == "split"]
    return [inst.arguments["factors"][1] for inst in splits]


def sketches_of(mod, *rules, **options):
    generator = PostOrderApply(sch_rules=list(rules), **options)
    context = TuneContext(mod, target="llvm", space_generator=generator, rand_state=1)
    return context.generate_design_space()


def test_rule_by_rule_over_all_blocks_of_all_functions():
    first, second = Noting(), Noting()
    (sketch,) = sketches_of(TwoFunctions, first, second)
    assert first.blocks == second.blocks == ["root", "B", "root", "C", "B"]
    assert {inst.kind.name for inst in sketch.trace} == {"get_block"}


def test_all_results_of_a_rule_go_on():
    sketches = sketches_of(scale_and_shift, Splitting(2, 3), Noting())
    factors = [factors_of(sketch) for sketch in sketches]
    assert sorted(factors) == [[2, 2], [2, 3], [3, 2], [3, 3]]


def test_removed_blocks_are_left_out():
    noting = Noting()
    sketches_of(scale_and_shift, Inlining(), noting)
    assert noting.blocks == ["root", "C"]


def test_a_filter_chooses_blocks():
    noting = Noting()
    sketches_of(scale_and_shift, noting, f_block_filter=lambda block: block.name_hint != "B")
    assert noting.blocks == ["root", "C"]


def test_inner_blocks_come_after_those_around_them():
    @T.prim_func
    def nested(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(2):
            with T.block("outer"):
                vi = T.axis.spatial(2, i)
                for j in range(4):
                    with T.block("C"):
                        vj = T.axis.spatial(8, vi * 4 + j)
                        C[vj] = A[vj]

    noting = Noting()
    sketches_of(nested, noting)
    assert noting.blocks == ["root", "outer", "C"]


def test_blocks_of_one_name_are_told_apart():
    @T.prim_func
    def same(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("copy"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(8):
            with T.block("copy"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + T.float32(1)

    (sketch,) = sketches_of(same, Splitting(2))
    assert len([inst for inst in sketch.trace if inst.kind.name == "split"]) == 2


def test_annotated_blocks_are_for_rules_that_take_them():
    @T.prim_func
    def custom(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                T.block_attr({"schedule_rule": "mine"})
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]

    class Taking(Noting):
        takes_annotated_blocks = True

    taking, noting = Taking(), Noting()
    sketches_of(custom, taking, noting)
    assert (taking.blocks, noting.blocks) == (["B"], ["root"])
    taking, noting = Taking(), Noting()
    sketches_of(matmul, taking, noting)
    assert (taking.blocks, noting.blocks) == ([], ["root", "C"])


def test_equal_sketches_are_dropped():
    assert len(sketches_of(matmul, Splitting(2, 4, 2))) == 2


def test_the_number_of_sketches_is_bounded(monkeypatch, caplog):
    monkeypatch.setattr(post_order_apply, "MAX_SKETCHES", 3)
    with caplog.at_level(logging.INFO):
        sketches = sketches_of(scale_and_shift, Splitting(2, 3), Splitting(1, 2))
    assert len(sketches) == 3
    assert "3 of 4 sketches are followed up after Splitting" in caplog.text
    factors = [factors_of(sketch) for sketch in sketches]
    # The first choice of the last rule for as many sketches as there is room for.
    assert all(chosen[-1] == 1 for chosen in factors)


def test_an_error_of_a_rule_names_rule_and_block():
    class Broken(ScheduleRule):
        def apply(self, sch, block):
            raise ZeroDivisionError("oops")

    with pytest.raises(
        TuningError, match=r"Broken failed on block `root`: ZeroDivisionError\('oops'\)"
    ):
        sketches_of(matmul, Broken())


def test_a_refusal_in_a_rule_is_shown():
    with pytest.raises(TuningError, match="Splitting failed on block `C`: split: "):
        sketches_of(matmul, Splitting(0))


def test_a_rule_returns_a_list():
    class Forgetful(ScheduleRule):
        def apply(self, sch, block):
            pass

    with pytest.raises(TuningError, match="Forgetful returned None for block `root`"):
        sketches_of(matmul, Forgetful())


def test_a_rule_does_not_change_the_sketch_that_it_gets():
    class Greedy(Splitting):
        def apply(self, sch, block):
            before = sch.copy()
            if not sch.get_loops(block):
                return [sch]
            sch.split(sch.get_loops(block)[0], [None, 2])
            return [before, sch]

    counts = [len(s.trace.simplified()) for s in sketches_of(matmul, Greedy())]
    assert counts == [0, 3]


def test_rules_of_the_target_need_a_target():
    with pytest.raises(ArgumentValueError, match="has no target"):
        TuneContext(matmul, space_generator=PostOrderApply())


def test_parts_are_made_for_the_target_and_cloned():
    generator = PostOrderApply(sch_rules=[Noting()])
    clone = generator.clone()
    assert clone.sch_rules[0] is not generator.sch_rules[0]
    TuneContext(matmul, target="llvm", space_generator=clone)
    assert isinstance(clone.postprocs, list)
    assert isinstance(clone.mutator_probs, dict)
    assert generator.postprocs == "from-target"


def test_bad_parts_are_refused():
    with pytest.raises(ArgumentError, match="`sch_rules` is a list"):
        PostOrderApply(sch_rules=3)
    with pytest.raises(ArgumentError, match="`mutator_probs` is a dictionary"):
        PostOrderApply(mutator_probs=[1])
    with pytest.raises(ArgumentError, match="f_block_filter is a function"):
        PostOrderApply(f_block_filter="C")


def test_created_by_name():
    assert isinstance(SpaceGenerator.create("post-order-apply"), PostOrderApply)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
@pytest.mark.parametrize("cores", [1, 4])
def test_blocks_that_never_run_are_left_alone(shape, cores):
    rows, columns = shape

    @T.prim_func
    def nothing(A: T.Buffer((rows, columns), "float32"), C: T.Buffer((rows, columns), "float32")):
        for i, j in T.grid(rows, columns):
            with T.block("C"):
                x, y = T.axis.remap("SS", [i, j])
                C[x, y] = A[x, y] * 2.0

    @T.prim_func
    def sums(A: T.Buffer((rows, columns), "float32"), C: T.Buffer((rows,), "float32")):
        for i, j in T.grid(rows, columns):
            with T.block("C"):
                x, y = T.axis.remap("SR", [i, j])
                with T.init():
                    C[x] = 0.0
                C[x] = C[x] + A[x, y]

    for func in (nothing, sums):
        context = TuneContext(
            func, target=f"llvm -num-cores={cores}", space_generator="post-order-apply"
        )
        assert len(context.generate_design_space()) == 2  # the default schedule, and the rules'
