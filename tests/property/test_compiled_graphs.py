"""Random graphs compute the same compiled and evaluated, with passes and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.counts import count_program
from tests.property.compiled import share
from tests.property.graphs import Graph, graphs

from tilewright import relax
from tilewright.relax.interpreter import evaluate
from tilewright.runtime.ndarray import NDArray

pytestmark = pytest.mark.budget(4)


def assert_same_results(got: Any, wanted: Any) -> None:
    """A result of the virtual machine is nearly what the evaluator says."""
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple)
        for one, other in zip(got, wanted, strict=True):
            assert_same_results(one, other)
    else:
        assert isinstance(got, NDArray)
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)


def run(graph: Graph, pipeline: Any) -> None:
    expected = evaluate(graph.module, *graph.inputs)
    ex = relax.build(graph.module, "llvm", pipeline=pipeline)
    vm = relax.VirtualMachine(ex)
    for _ in range(2):  # memory of the first call is used again by the second
        assert_same_results(vm["main"](*graph.inputs), expected)
    count_program("graphs compiled")


@share(20)
@given(graph=graphs(12))
def test_compiled_with_all_passes(graph):
    run(graph, "default_build")


@share(20)
@given(graph=graphs(6))
def test_compiled_with_legalization_only(graph):
    run(graph, relax.transform.LegalizeOps())
