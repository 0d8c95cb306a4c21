"""Random graphs mean the same before and after each pass."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.counts import count_program
from tests.property.graphs import Graph, random_graph

from tilewright import relax
from tilewright.relax import transform
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate

pytestmark = pytest.mark.budget(2)

PASSES = [
    transform.AdjustMatmulOrder(),
    transform.CanonicalizeBindings(),
    transform.CombineParallelMatmul(),
    transform.ConvertToDataflow(),
    transform.DecomposeOpsForInference(),
    transform.DeadCodeElimination(),
    transform.EliminateCommonSubexpr(),
    transform.ExpandTupleArguments(),
    transform.FoldBatchnormToConv2D(),
    transform.FoldConstant(),
    transform.FuseTransposeMatmul(),
    transform.InlinePrivateFunctions(),
    transform.LegalizeOps(),
    transform.Normalize(),
    transform.RemoveUnusedOutputs(),
    transform.RemoveUnusedParameters(),
    transform.ReorderPermuteDimsAfterConcat(),
    transform.RewriteDataflowReshape(),
    transform.ToNonDataflow(),
    transform.TopologicalSort(),
    transform.TopologicalSort("breadth-first", "from-outputs"),
]


def assert_same_results(got: Any, wanted: Any) -> None:
    """Two results of a graph are nearly the same."""
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_same_results(one, other)
    else:
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def check(graph: Graph, change: Any, twice: bool = True) -> None:
    expected = evaluate(graph.module, *graph.inputs)
    after = change(graph.module)
    check_well_formed(after)
    assert_same_results(evaluate(after, *graph.inputs), expected)
    if twice:
        assert change(after) is after
    count_program(f"graphs changed by {change.name}")


@pytest.mark.parametrize("change", PASSES, ids=lambda change: change.name)
def test_a_pass_keeps_the_numbers_and_changes_nothing_a_second_time(change, budget):
    for number in budget.examples(12):
        check(random_graph(random.Random(number)), change)


def test_the_pipeline_keeps_the_numbers(budget):
    for number in budget.examples(25):
        graph = random_graph(random.Random(number), most_steps=20)
        check(graph, relax.get_pipeline("default_build"), twice=False)
