"""Large graphs are compiled with the help of other processes."""

import time

import numpy as np
import pytest

from tilewright import relax
from tilewright.driver.helpers import Helpers
from tilewright.relax.interpreter import evaluate
from tilewright.relax.vm import driver


def layers(count):
    """A chain of products with constants, each of another size."""
    builder, random = relax.BlockBuilder(), np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((16, 32), "float32"))
    with builder.function("main", [x]):
        value = x
        for columns in range(48, 48 + 16 * count, 16):
            rows = int(value.struct_info.shape[1])
            weight = relax.const((random.random((rows, columns)) / rows).astype("float32"))
            value = builder.emit(relax.op.nn.relu(relax.op.matmul(value, weight)))
        builder.emit_func_output(value)
    return builder.get()


class WaitingHelpers(Helpers):
    """Helpers that have started before anything is done."""

    def __enter__(self):
        entered = super().__enter__()
        while self._server and not self._server.is_ready():
            time.sleep(0.01)
        return entered


@pytest.fixture
def build(monkeypatch):
    """Build a module with so many helpers; gives the program, and how many results they had."""
    answered = []
    original = Helpers._answers

    def answers(self, seconds):
        for answer in original(self, seconds):
            answered.append(answer)
            yield answer

    monkeypatch.setattr(Helpers, "_answers", answers)
    monkeypatch.setattr(driver, "Helpers", WaitingHelpers)

    def build_with(module, count):
        monkeypatch.setattr(driver, "count_helpers", lambda _: count)
        answered.clear()
        return relax.build(module, "llvm -num-cores=1"), len(answered)

    return build_with


def test_a_program_is_the_same_with_help(build):
    module = layers(5)
    alone, nothing = build(module, 0)
    helped, answers = build(module, 1)
    assert nothing == 0
    assert answers >= 2  # when operands were packed, and when kernels were compiled
    assert helped.mod.script() == alone.mod.script()
    assert [*helped.compiled.units.values()] == [*alone.compiled.units.values()]
    x = np.random.default_rng(1).standard_normal((16, 32)).astype("float32")
    np.testing.assert_allclose(
        relax.VirtualMachine(helped)["main"](x).numpy(), evaluate(module, x), rtol=1e-5
    )
