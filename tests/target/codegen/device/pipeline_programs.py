"""Programs whose loops are pipelines."""

from __future__ import annotations

from collections.abc import Sequence

from tests.target.codegen.device.programs import Program, named, plain_matmul, program
from tests.target.codegen.device.vector_programs import vector_product

from tilewright import te, tir
from tilewright.script import tir as T

Numbers = Sequence[int]


def pipelined_product(
    stage: Numbers = (0, 0, 1), order: Numbers = (0, 1, 2), background: Numbers = ()
) -> tir.Schedule:
    """A product whose next tiles come into shared memory while the present ones are used."""
    sch = vector_product()
    k = sch.get_loops("C_update")[4]
    sch.annotate(k, "software_pipeline_stage", list(stage))
    sch.annotate(k, "software_pipeline_order", list(order))
    if background:
        sch.annotate(k, "software_pipeline_async_stages", list(background))
    return sch


def pipelined(name: str, *stages: Numbers) -> Program:
    return Program(named(pipelined_product(*stages).mod["main"], name), plain_matmul(32))


@program
def pipeline_of_two_stages() -> Program:
    return pipelined("pipeline_of_two_stages")


@program
def pipeline_of_four_stages() -> Program:
    """Three tiles are on the way; as many as there are steps."""
    return pipelined("pipeline_of_four_stages", (0, 0, 3), (1, 0, 2))


@program
def pipeline_that_copies_last() -> Program:
    """A tile is used before the copy of the next one is begun."""
    return pipelined("pipeline_that_copies_last", (0, 0, 1), (1, 2, 0))


@program
def pipeline_in_the_background() -> Program:
    return pipelined("pipeline_in_the_background", (0, 0, 1), (0, 1, 2), (0,))


@program
def pipeline_far_in_the_background() -> Program:
    return pipelined("pipeline_far_in_the_background", (0, 0, 2), (1, 2, 0), (0,))


@program
def pipeline_of_two_groups() -> Program:
    """Copies of two stages, each with its group."""
    return pipelined("pipeline_of_two_groups", (0, 1, 2), (0, 1, 2), (0, 1))


@program
def pipeline_of_any_length() -> Program:
    """As many iterations as nobody knows, with a copy into registers in between."""

    @T.prim_func
    def pipeline_of_any_length(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "pipeline_of_any_length"})
        n = T.int32()
        A, B = T.match_buffer(a, (n, 8)), T.match_buffer(b, (n, 8))
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for k in T.serial(n, annotations={"software_pipeline_stage": [0, 2, 3]}):
                with T.block("step"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    row = T.alloc_buffer((8,), scope="shared")
                    own = T.alloc_buffer((1,), scope="local")
                    with T.block("row"):
                        row[vi] = A[vk, vi]
                    with T.block("own"):
                        own[0] = row[vi] * T.float32(2)
                    with T.block("B"):
                        B[vk, vi] = own[0] + T.float32(1)

    return Program(pipeline_of_any_length)


@program
def two_buffers() -> Program:
    """What the annotation of a block asks for."""
    a = te.placeholder((8, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute((8,), lambda i: te.sum(a[i, k] * 2.0, axis=k), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, loop = sch.get_loops("B")
    block, thread = sch.split(i, [2, None])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    outer, _ = sch.split(loop, [None, 4])
    copy = sch.cache_read("B", 0, "shared")
    sch.compute_at(copy, outer)
    sch.bind(sch.get_loops(copy)[-1], "threadIdx.x")
    sch.annotate(copy, "double_buffer_scope", 0)
    return Program(named(sch.mod["main"], "two_buffers"), te.create_prim_func([a, b]))
