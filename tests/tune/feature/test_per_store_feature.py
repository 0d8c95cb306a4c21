from typing import NamedTuple

import numpy as np
import pytest
from tests.tune.feature import programs
from tests.tune.feature.enumeration import Accesses

from tilewright import te, tir
from tilewright.target import Target
from tilewright.tune.feature import FeatureExtractor, PerStoreFeature
from tilewright.tune.feature.store_accesses import column_names

NAMES = column_names(5, 10)


class Context(NamedTuple):
    target: Target = Target("llvm -num-cores=1")


class Candidate(NamedTuple):
    sch: tir.Schedule


CPU = Context()


def features(sch, context=CPU, **options):
    """Per store, the features by name as plain amounts."""
    (table,) = PerStoreFeature(**options).extract_from(context, [Candidate(sch)])
    names = column_names(
        options.get("buffers_per_store", 5),
        options.get("arith_intensity_curve_num_samples", 10),
        options.get("extract_workload", False),
    )
    return [dict(zip(names, np.exp2(row) - 1, strict=True)) for row in table]


def test_there_are_164_columns():
    extractor = FeatureExtractor.create("per-store-feature")
    assert extractor.feature_vector_length == len(NAMES) == len(set(NAMES)) == 164
    (table,) = extractor.extract_from(Context(), [Candidate(programs.tiled_matmul())])
    assert table.shape == (3, 164)
    assert np.isfinite(table).all()
    with_workload = PerStoreFeature(extract_workload=True)
    (table,) = with_workload.extract_from(Context(), [Candidate(programs.tiled_matmul())])
    assert table.shape == (3, with_workload.feature_vector_length) == (3, 170)


@pytest.mark.parametrize(
    "sch",
    [
        pytest.param(tir.Schedule(programs.matmul(3, 4, 5)), id="matmul"),
        pytest.param(programs.tiled_matmul(packs=False), id="tiled"),
        pytest.param(programs.convolution(), id="convolution"),
        pytest.param(programs.transposed(), id="transposed"),
        pytest.param(programs.fused_and_split(6, 10, 5), id="fused"),
    ],
)
def test_amounts_of_memory_are_those_of_an_enumeration(sch):
    expected = Accesses(sch.mod["main"])
    stores = list(expected.counts)
    for key, row in zip(stores, features(sch), strict=True):
        by_buffer = {}
        for (_, buffer), elements in expected.of[key].items():
            by_buffer.setdefault(buffer, []).extend(elements)
        found = [
            (row[f"buffer{number}_bytes"], row[f"buffer{number}_unique_bytes"])
            for number in range(len(by_buffer))
        ]
        known = [(4 * len(elements), 4 * len(set(elements))) for elements in by_buffer.values()]
        assert sorted(found) == [pytest.approx(pair) for pair in sorted(known)], key


def test_operations_are_counted_for_all_executions():
    init, update = features(tir.Schedule(programs.matmul(3, 4, 5)))
    assert init["float_mad"] == pytest.approx(0)
    assert update["float_mad"] == pytest.approx(3 * 4 * 5)
    *_, guarded = features(programs.tiled_matmul(m=10, n=16, k=8, panels=1, packs=False))
    assert guarded["float_mad"] == pytest.approx(10 * 16 * 8)


def test_loops_of_each_kind():
    sch = programs.tiled_matmul(packs=False)
    *_, update = features(sch)
    assert update["vectorize_count"] == pytest.approx(1)
    assert update["vectorize_length"] == pytest.approx(4)
    assert update["vectorize_is_inner_spatial"] == pytest.approx(1)
    assert update["unroll_count"] == pytest.approx(3)
    assert update["unroll_product"] == pytest.approx(2 * 3 * 2)
    assert update["unroll_is_mixed"] == pytest.approx(1)
    assert update["parallel_is_none"] == pytest.approx(1)
    sch.parallel(sch.get_loops("C")[0])
    *_, update = features(sch)
    assert update["parallel_is_outer_spatial"] == pytest.approx(1)
    assert update["parallel_length"] == pytest.approx(2)


def test_a_loop_along_which_an_access_stands_still_reuses_it():
    *_, update = features(tir.Schedule(programs.matmul(3, 4, 5)))
    by_size = {round(update[f"buffer{n}_unique_bytes"]): n for n in range(3)}
    a, b, c = (by_size[4 * size] for size in (3 * 5, 4 * 5, 3 * 4))
    assert update[f"buffer{a}_reuse_count"] == pytest.approx(4)
    assert update[f"buffer{a}_reuse_distance_iterations"] == pytest.approx(5)
    # One iteration of j: a row of A, a column of B, an element of C.
    assert update[f"buffer{a}_reuse_distance_bytes"] == pytest.approx(4 * (5 + 5 + 1))
    assert update[f"buffer{b}_reuse_count"] == pytest.approx(3)
    assert update[f"buffer{c}_reuse_count"] == pytest.approx(5)
    assert update[f"buffer{c}_is_read_write"] == pytest.approx(1)
    assert update[f"buffer{b}_stride"] == pytest.approx(4)


def test_lines_that_are_walked_along():
    def copied(shape, order):
        A = te.placeholder(shape, name="A")
        B = te.compute(shape, lambda i, j: A[i, j] + 1.0, name="B")
        sch = tir.Schedule(te.create_prim_func([A, B]))
        sch.reorder(*(sch.get_loops("B")[n] for n in order))
        (row,) = features(sch)
        return row["buffer0_lines"], row["buffer0_unique_lines"]

    assert copied((8, 64), (0, 1)) == pytest.approx((8 * 4, 8 * 4))
    assert copied((8, 64), (1, 0)) == pytest.approx((8 * 64, 8 * 4))


def test_intensity_grows_with_the_loops_that_reuse():
    *_, update = features(tir.Schedule(programs.matmul(16, 16, 16)))
    curve = [update[f"intensity{n}"] for n in range(10)]
    assert curve == sorted(curve)
    assert curve[-1] == pytest.approx(16**3 / (3 * 4 * 16 * 16))


def test_memory_of_the_program_is_as_large_as_what_lives_at_a_time():
    pack, *_ = features(programs.tiled_matmul(n=32, k=8, panels=2))
    assert pack["allocated_bytes"] == pytest.approx(4 * 16 * 8)
    assert pack["allocated_outer"] == pytest.approx(2)
    assert pack["allocated_altogether"] == pytest.approx(4 * 32 * 8)


def test_fewer_and_more_columns():
    sch = programs.tiled_matmul()
    (row, *_) = features(sch, buffers_per_store=2, arith_intensity_curve_num_samples=4)
    assert "buffer2_bytes" not in row
    assert len(row) == 164 - 3 * 18 - 6


def test_threads_of_a_gpu():
    sch = tir.Schedule(programs.matmul(8, 16, 4))
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    *_, update = features(sch, Context(Target("nvidia/nvidia-a100")))
    assert update["is_gpu"] == pytest.approx(1)
    assert (update["blockIdx.x"], update["threadIdx.x"]) == pytest.approx((8, 16))
    assert update["threadIdx.y"] == pytest.approx(1)


def test_users_define_extractors():
    class Extents(FeatureExtractor):
        def extract_from(self, context, candidates):
            return [np.zeros((1, 2)) for _ in candidates]

    assert len(Extents().extract_from(None, [None, None])) == 2


def test_a_candidate_without_stores_has_no_rows():
    assert PerStoreFeature().extract_from(Context(), []) == []
