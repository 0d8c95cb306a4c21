"""Products with random pipelines on devices: tiles of random sizes, stages, orders and copies."""

import random
import secrets
import sys

import numpy as np
import pytest
from tests.budget import SECONDS
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError

THREADS = 4


def product(rows, columns, length, dtype):
    a = te.placeholder((rows, length), dtype, name="A")
    b = te.placeholder((length, columns), dtype, name="B")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def random_pipeline(seed):
    """A schedule of a product, the sizes of its operands, and their type."""
    rng = random.Random(seed)
    tile, step = rng.choice((4, 8)), rng.choice((2, 4, 8))
    rows, columns = (THREADS * rng.randint(1, 3) for _ in range(2))
    length = step * rng.randint(2, 6) - rng.choice((0, 0, 1))
    dtype = rng.choice(("float32", "float32", "int8", "float16"))
    func = product(rows, columns, length, dtype)
    sch = tir.Schedule(func.with_attr("global_symbol", f"product_{seed}"))
    i, j, k = sch.get_loops("C")
    i, thread = sch.split(i, [None, THREADS])
    k, inner = sch.split(k, [None, step])
    sch.reorder(i, thread, k, j, inner)
    sch.bind(i, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    operands = rng.choice(([0], [1], [0, 1]))
    for operand in operands:
        scope = rng.choice(("shared", "shared", "local"))
        copy = sch.cache_read("C", operand, scope)
        sch.compute_at(copy, k)
        loop = sch.fuse(*sch.get_loops(copy)[3:])
        if scope == "shared":
            _, bound, vector = sch.split(loop, [None, THREADS, rng.choice((1, 2, 4, tile))])
            sch.bind(bound, "threadIdx.x")
            sch.vectorize(vector)
        if rng.random() < 0.2:
            sch.annotate(copy, "double_buffer_scope", 0)
    if rng.random() < 0.7:
        sch.decompose_reduction("C", k)
    count = len(operands) + 1
    stages = sorted(rng.randint(0, 3) for _ in range(count))
    sch.annotate(k, "software_pipeline_stage", stages)
    if rng.random() < 0.5:
        sch.annotate(k, "software_pipeline_order", rng.sample(range(count), count))
    if rng.random() < 0.6:
        background = sorted(set(rng.choices(stages, k=rng.choice((1, 1, 2)))))
        sch.annotate(k, "software_pipeline_async_stages", background)
    return sch.mod, (rows, columns, length), dtype


def built(seeds, target):
    """Modules of those pipelines that are legal, with the sizes of their operands."""
    found = []
    for seed in seeds:
        module, sizes, dtype = random_pipeline(seed)
        try:
            found.append((seed, tvm.build(module, target=target), sizes, dtype))
        except LoweringError as error:
            if "cannot be a pipeline" not in str(error):
                raise AssertionError(f"seed {seed}: {error}") from error
    return found


def assert_right(seed, module, sizes, dtype, device):
    rows, columns, length = sizes
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (rows, length)).astype(dtype)
    b = rng.integers(-2, 3, (length, columns)).astype(dtype)
    result = tvm.nd.empty((rows, columns), dtype, device)
    module(tvm.nd.array(a, device), tvm.nd.array(b, device), result)
    wanted = a.astype("int64") @ b.astype("int64")
    np.testing.assert_array_equal(result.numpy().astype("int64"), wanted, err_msg=f"seed {seed}")


def first_seed(number):
    return secrets.randbits(40) if SECONDS else 100 * number


def test_on_a_device(budget):
    legal = 0
    for number in budget.examples(1):
        for case in built(range(first_seed(number), first_seed(number) + 12), "opencl"):
            assert_right(*case, tvm.opencl(0))
            legal += 1
    assert legal > 4 * budget.count


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_on_emulated_cuda(budget, monkeypatch):
    legal = 0
    for number in budget.examples(1):  # each of many programs, which are compiled together
        first = first_seed(number)
        cases = built(range(first, first + 16), "cuda")
        api = EmulatedCuda([module.imported_modules[0].get_source() for _, module, *_ in cases])
        with monkeypatch.context() as patch:
            use_emulation(patch, api)
            for case in cases:
                api.seed = case[0]
                assert_right(*case, tvm.cuda(0))
        legal += len(cases)
    assert legal > 5 * budget.count
