"""Iterations of a loop overlap as annotations say, where that changes nothing."""

import random
import secrets

import numpy as np
import pytest
from tests.budget import SECONDS

import tilewright as tvm
from tilewright.driver.pipeline import lowering
from tilewright.error import LoweringError
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import Allocate, For
from tilewright.tir.transform.building.statements import statements


def three_statements(**annotations):
    @T.prim_func
    def main(A: T.Buffer((9, 4), "float32"), B: T.Buffer((9, 4), "float32")):
        T.func_attr({"global_symbol": "main"})
        for k in T.serial(8, annotations=annotations):
            with T.block("step"):
                vk = T.axis.spatial(8, k)
                one = T.alloc_buffer((4,))
                two = T.alloc_buffer((4,))
                for i in range(4):
                    with T.block("one"):
                        vi = T.axis.spatial(4, i)
                        one[vi] = A[vk, vi] * T.float32(2)
                for i in range(4):
                    with T.block("two"):
                        vi = T.axis.spatial(4, i)
                        two[vi] = one[3 - vi] + T.float32(1)
                for i in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(4, i)
                        B[vk, vi] = two[vi] + one[vi]

    return main


def staged(stage, order=None):
    annotations = {"software_pipeline_stage": stage}
    return three_statements(
        **annotations, **({} if order is None else {"software_pipeline_order": order})
    )


def sizes(func):
    """How much memory of each name is allocated."""
    body = tvm.lower(func)["main"].body
    return {
        stmt.buffer_var.name: int(stmt.extents[0])
        for stmt in statements(body)
        if isinstance(stmt, Allocate)
    }


@pytest.mark.parametrize(
    ("stage", "order", "one", "two"),
    [
        ([0, 0, 1], [0, 1, 2], 8, 8),
        ([0, 1, 1], [0, 1, 2], 8, 4),
        ([0, 1, 1], [2, 0, 1], 4, 4),
        ([0, 1, 3], [2, 0, 1], 12, 12),
        ([0, 2, 3], [0, 1, 2], 16, 8),
    ],
)
def test_memory_has_as_many_versions_as_iterations_use_at_once(stage, order, one, two):
    func = staged(stage, order)
    assert sizes(func) == {"one": one, "two": two}
    assert_same(func)


def assert_same(func):
    """The lowered program computes what the program does, and so does its code."""
    rng = np.random.default_rng(0)
    shapes = [tuple(map(int, func.buffer_map[param].shape)) for param in func.params]
    arrays = [rng.integers(-8, 8, shape).astype("float32") for shape in shapes]
    expected, lowered, compiled = ([a.copy() for a in arrays] for _ in range(3))
    interpret(func, *expected)
    interpret(tvm.lower(func)["main"], *lowered)
    tvm.build(func, target="llvm")(*compiled)
    for results in (lowered, compiled):
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_steps_before_in_and_after_the_loop():
    body = tvm.lower(staged([0, 1, 2]))["main"].body
    outer = [s for s in statements(body) if isinstance(s, For) and s.loop_var.name == "k"]
    assert [int(loop.extent) for loop in outer] == [6]
    assert sum(isinstance(s, For) for s in statements(body)) == 1 + 3 * 3


def test_a_short_loop_stays():
    def short(extent, annotations):
        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            T.func_attr({"global_symbol": "main"})
            for k in T.serial(extent, annotations=annotations):
                one = T.alloc_buffer((1,))
                one[0] = A[k]
                B[k] = one[0]

        return main

    for extent in (1, 2, 3, 4):
        assert_same(short(extent, {"software_pipeline_stage": [0, 2]}))


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"software_pipeline_stage": [0, 1]}, r"stage has 2 numbers, .* and there are 3"),
        ({"software_pipeline_stage": [0, -1, 1]}, r"stages count from 0"),
        ({"software_pipeline_order": [0, 1, 2]}, r"software_pipeline_stage is missing"),
        (
            {"software_pipeline_stage": [0, 0, 1], "software_pipeline_order": [0, 0, 1]},
            r"each of the numbers from 0 to 2",
        ),
        (
            {"software_pipeline_stage": [0, 0, 1], "software_pipeline_async_stages": [2]},
            r"names stage 2, which no statement has",
        ),
        ({"software_pipeline_stage": [1, 0, 1]}, r"statement 0 .* accesses one before statement 1"),
        (
            {"software_pipeline_stage": [0, 0, 1], "software_pipeline_order": [1, 0, 2]},
            r"loop k cannot be a pipeline: statement 0",
        ),
    ],
)  # fmt: skip
def test_what_fits_no_loop_is_refused(annotations, message):
    with pytest.raises(LoweringError, match=message):
        tvm.lower(three_statements(**annotations))


def test_only_serial_loops_are_pipelines():
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for k in T.parallel(4, annotations={"software_pipeline_stage": [0, 1]}):
            A[k] = T.float32(1)
            B[k] = T.float32(2)

    with pytest.raises(LoweringError, match="loop k is of kind parallel"):
        tvm.lower(main)


def test_what_is_on_the_way_is_not_used():
    annotations = {"software_pipeline_stage": [0, 0, 1], "software_pipeline_async_stages": [0]}
    module = tvm.IRModule.from_expr(three_statements(**annotations))
    with pytest.raises(LoweringError, match=r"statement 1 of stage 0 uses what statement 0 copies"):
        lowering(Target("cuda"))(module)


def carried(distance):
    """Statement 0 needs what statement 1 has made some iterations before."""

    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for k in T.serial(8, annotations={"software_pipeline_stage": [0, 2]}):
            B[k] = A[k]
            A[k + distance] = B[k] + T.float32(1)

    return main


def test_dependences_between_iterations_are_kept():
    for distance in (3, 8):
        assert_same(carried(distance))
    for distance in (1, 2):
        with pytest.raises(LoweringError, match=r"statement 1 .* accesses A before statement 0"):
            tvm.lower(carried(distance))


def test_a_buffer_that_is_to_be_double():
    func = three_statements()
    sch = tvm.tir.Schedule(func)
    sch.annotate("one", "double_buffer_scope", 0)
    assert sizes(sch.mod["main"]) == {"one": 8, "two": 4}
    assert_same(sch.mod["main"])


def random_pipeline(rng):
    """A loop whose statements use memory of an iteration, and of several."""
    count, extent = rng.randint(2, 4), rng.randint(1, 7)
    stage = sorted(rng.randint(0, 3) for _ in range(count))
    order = rng.sample(range(count), count)
    if rng.random() < 0.4:
        rng.shuffle(stage)
    sources = ["A[{k}]", "A[{k} + 1]", "B[{k}]", "B[{k} + 2]"]
    lines, private = [], []
    for number in range(count):
        chosen = rng.sample(sources, 2)
        value = " - ".join(text.format(k="k") for text in chosen)
        if rng.random() < 0.6:
            private.append(f"        own{number} = T.alloc_buffer((1,))")
            lines.append(f"        own{number}[0] = {value}")
            sources.append(f"own{number}[0]")
        else:
            place = rng.choice(("A[k]", "B[k]", "B[k + 1]", "A[k + 2]"))
            lines.append(f"        {place} = {value}")
    return "\n".join(
        [
            "@T.prim_func",
            'def main(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):',
            '    T.func_attr({"global_symbol": "main"})',
            f"    for k in T.serial({extent}, annotations={{",
            f'        "software_pipeline_stage": {stage}, "software_pipeline_order": {order}}}):',
            *private,
            *lines,
        ]
    )


def test_random_pipelines(budget):
    accepted = 0
    for number in budget.examples(60):
        source = random_pipeline(random.Random(secrets.randbits(40) if SECONDS else number))
        func = from_source(source)
        try:
            lowered = tvm.lower(func)["main"]
        except LoweringError:
            continue
        accepted += 1
        arrays = np.random.default_rng(number).integers(-9, 9, (2, 12)).astype("float32")
        expected = arrays.copy()
        interpret(func, *expected)
        interpret(lowered, *arrays)
        np.testing.assert_array_equal(arrays, expected, err_msg=source)
    assert accepted > 0.2 * budget.count
