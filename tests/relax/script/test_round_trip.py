"""What is printed parses to the same, whatever a graph function is made of."""

import pytest
from hypothesis import given, settings
from tests.relax.script.random_graphs import random_modules

from tilewright import relax
from tilewright.ir import assert_structural_equal
from tilewright.ir.instrument import pass_instrument
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T
from tilewright.transform import PassContext


@settings(max_examples=25, deadline=None)
@given(random_modules())
def test_random_functions(module):
    text = module.script(show_meta=True)
    # Random functions call tensor programs that the module does not have.
    again = from_source(text, check_well_formed=False)
    try:
        assert_structural_equal(again, module)
    except ValueError as error:
        pytest.fail(f"{text}\n\nparses to\n\n{again.script()}\n\n{str(error).splitlines()[0]}")
    assert again.script(show_meta=True) == text


@pass_instrument
class RoundTrips:
    """Checks what each pass gives."""

    def __init__(self):
        self.passes = []

    def run_after_pass(self, module, info):
        text = module.script(show_meta=True)
        again = from_source(text)
        assert_structural_equal(again, module)
        assert again.script(show_meta=True) == text
        self.passes.append(info.name)


def test_what_passes_give():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 2, 4, 4), "float32"), w: R.Tensor((8, 3), "float32")):
            n = T.int64()
            with R.dataflow():
                y = R.nn.conv2d(x, R.ones(R.shape([2, 2, 3, 3]), "float32"))
                y = R.nn.relu(y)
                z = R.nn.softmax(R.matmul(R.reshape(y, R.shape([n, 8])), w))
                a, b = R.split(z, [1], axis=1)
                c = cls.scaled(a)  # noqa: F821
                R.output(b, c)
            checked = R.match_cast(c, R.Tensor((n, 1), "float32"))
            return (b, checked)

        @R.function(private=True)
        def scaled(x: R.Tensor(("m", 1), "float32")):
            y = R.add(x, R.const([[1.5]]))
            return R.multiply(y, R.const(2.0, "float32"))

    instrument = RoundTrips()
    with PassContext(instruments=[instrument]):
        relax.transform.ToNonDataflow()(relax.get_pipeline("zero")(Module))
    assert {"LegalizeOps", "FuseOps", "FuseTIR", "FoldConstant"} <= set(instrument.passes)
