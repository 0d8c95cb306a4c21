"""Linear forms of indices, with digits of loops as terms."""

from tilewright.arith.linear import LinearForm
from tilewright.ir import Var
from tilewright.tune.feature.index_form import Anything, IndexReader


def test_products_with_nothing_have_no_terms():
    reader, loop, zero = IndexReader(), Var("i", "int32"), Var("zero", "int32")
    reader.known[loop] = LinearForm({Anything(4): 1}, 0)
    reader.known[zero] = LinearForm({}, 0)
    for index in (zero * loop, loop * zero, (loop - loop) * loop, loop * 3 - loop * 3):
        form = reader.form(index)
        assert not form.terms
        assert form.constant == 0
