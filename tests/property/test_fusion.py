"""Random graphs of tensor programs mean the same after fusion, and groups are as they should be."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts import count_program
from tests.relax.transform import fusion_programs as programs
from tests.relax.transform.fusion_programs import array, bindings_of, fused, grouped, is_call

from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate

pytestmark = pytest.mark.budget(2)

SIZE = 3
ONE = (programs.relu, programs.twice, programs.normalize, programs.transpose, programs.running)
TWO = (programs.add, programs.matmul)


def random_module(rng: random.Random) -> Any:
    """A function of dataflow blocks, whose values are square matrices and vectors."""
    extent = Size("n", "int64") if rng.random() < 0.3 else SIZE
    builder = relax.BlockBuilder()
    params = [relax.Var(name, array(extent, extent)) for name in "xy"]
    scope: list[Any] = list(params)
    with builder.function("main", params):
        for _ in range(rng.randint(1, 2)):
            with builder.dataflow():
                made = [_step(rng, builder, scope) for _ in range(rng.randint(1, 5))]
                outputs = {made[-1], *rng.sample(made, min(len(made), rng.randint(0, 2)))}
                visible = [builder.emit_output(value) for value in made if value in outputs]
            scope = [value for value in scope if value not in made] + visible
        builder.emit_func_output(relax.Tuple(rng.sample(scope, min(2, len(scope)))))
    return builder.get()


def _step(rng: random.Random, builder: Any, scope: list[Any]) -> Any:
    value = rng.choice(scope)
    kind = rng.random()
    if kind < 0.5:
        function = rng.choice(ONE)
        result = builder.emit_te(function, value, primfunc_name_hint=function.__name__)
    elif kind < 0.8:
        function = rng.choice(TWO)
        result = builder.emit_te(
            function, value, rng.choice(scope), primfunc_name_hint=function.__name__
        )
    elif kind < 0.9:
        rows = builder.emit_te(programs.total, value, primfunc_name_hint="total")
        result = builder.emit_te(programs.spread, value, rows, primfunc_name_hint="spread")
    else:
        constant = relax.const(np.arange(1, dtype="float32"))
        result = builder.emit_te(_shifted_by, value, constant, primfunc_name_hint="shifted_by")
    scope.append(result)
    return result


def _shifted_by(a: Any, b: Any) -> Any:
    return programs.te.compute(a.shape, lambda *i: a(*i) * 0.25 + b[0], name="shifted_by")


ANCHORS = {"matmul", "normalize", "total", "running"}


@given(module=st.randoms(use_true_random=False).map(random_module))
def test_fusion_keeps_the_numbers(module):
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, (SIZE, SIZE)).astype("float32") for _ in "xy"]
    expected = evaluate(module, *inputs)
    groups, after = grouped(module), fused(module)
    for step in (groups, after):
        check_well_formed(step)
        for one, other in zip(evaluate(step, *inputs), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    for var in set(groups.functions) - set(module.functions):
        names = [b.value.args[0].name_hint for b in bindings_of(groups[var]) if is_call(b)]
        assert len(names) > 1
        assert sum(name.rstrip("0123456789") in ANCHORS for name in names) <= 1
        assert "running" not in names
    count_program("graphs of tensor programs fused")
