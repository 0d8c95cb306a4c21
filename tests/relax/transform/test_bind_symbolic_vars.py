"""Symbolic sizes become numbers."""

import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import shape_of

from tilewright import relax
from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir import Var as Size
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.transform import BindSymbolicVars

N, M = Size("n", "int64"), Size("m", "int64")


def program():
    x, y = relax.Var("x", array(N, 4)), relax.Var("y", array(N, M))

    def body(builder):
        builder.emit(relax.op.exp(y))
        return builder.emit(relax.op.zeros((N * 2, M + 1), "float32"))

    return module_of([x, y], body)


@pytest.mark.parametrize("key", ["n", N])
@pytest.mark.parametrize("name", [None, "main"])
def test_a_size_by_name_or_itself(key, name):
    before = program()
    after = BindSymbolicVars({key: 8}, name)(before)
    check_well_formed(after)
    main = after["main"]
    assert [shape_of(param) for param in main.params] == [(8, 4), (8, "m")]
    exp, zeros = bindings_in(main)
    assert shape_of(exp.var) == (8, "m")
    assert shape_of(zeros.value) == (16, "m + T.int64(1)")
    assert main.ret_struct_info.extents[0].value == 16
    assert shape_of(before["main"].params[0]) == ("n", 4)


def test_an_expression_of_another_size():
    main = BindSymbolicVars({"n": M * 2})(program())["main"]
    assert shape_of(main.params[0]) == ("m * T.int64(2)", 4)


def test_errors():
    with pytest.raises(UnknownNameError, match="no function has a symbolic size 'k'"):
        BindSymbolicVars({"k": 8})(program())
    with pytest.raises(ArgumentError, match=r"n is an integer, got 1\.5"):
        BindSymbolicVars({"n": 1.5})
    with pytest.raises(ArgumentError, match=r"n is an extent, got -1"):
        BindSymbolicVars({"n": -1})
    with pytest.raises(ArgumentError, match="no parameter of 'main' says what k is"):
        BindSymbolicVars({"n": Size("k", "int64") + 1})(program())
    with pytest.raises(UnknownNameError, match="no function 'other'"):
        BindSymbolicVars({"n": 1}, "other")(program())
