"""Finding the source of decorated functions and classes, and the names around them."""

import linecache

import pytest

from tilewright.error import ScriptError
from tilewright.script import ir as I
from tilewright.script import tir as T

CELL = """
from tilewright.script import ir as I, tir as T

@I.ir_module
class Cell:
    @T.prim_func
    def main(A: T.Buffer((SIZE,), "float32")):
        A[SIZE - 1] = {value}
"""


def run_cell(number, value, **names):
    """Run a notebook cell, whose text is in `linecache` as IPython puts it there."""
    text = CELL.replace("{value}", value)
    filename = f"<notebook-cell-{number}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names["Cell"]


def test_redefinition_in_notebook_cells():
    first, second = run_cell(1, "1.0", SIZE=4), run_cell(2, "2.0", SIZE=8)
    assert int(first["main"].body.indices[0]) == 3
    assert int(second["main"].body.indices[0]) == 7
    assert second["main"].body.value.value == 2.0


def test_errors_in_notebook_cells_name_the_cell():
    with pytest.raises(ScriptError) as caught:
        run_cell(3, "oops", SIZE=4)
    assert "undefined name `oops`" in str(caught.value)
    assert "<notebook-cell-3>:8:" in str(caught.value)
    assert caught.value.lineno == 8


def test_definitions_of_one_name_in_one_file():
    @T.prim_func
    def f(A: T.Buffer((1,), "float32")):
        A[0] = 1.0

    first = f

    @T.prim_func
    def f(A: T.Buffer((2,), "float32")):
        A[0] = 2.0

    assert (first.body.value.value, f.body.value.value) == (1.0, 2.0)


def test_two_definitions_of_one_class():
    made = []
    for value in (1.0, 2.0):

        @I.ir_module
        class Same:
            @T.prim_func
            def main(A: T.Buffer((4,), "float32")):
                A[0] = value  # noqa: B023

        made.append(Same["main"].body.value.value)
    assert made == [1.0, 2.0]

    @I.ir_module
    class Same:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = 3.0

    assert Same["main"].body.value.value == 3.0


def outermost(size):
    def between():
        def inner():
            @T.prim_func
            def f(A: T.Buffer((size,), "float32")):
                A[size - 1] = 0.0

            return f

        return inner()

    return between()


def test_names_of_functions_further_out():
    assert int(outermost(5).body.indices[0]) == 4


def test_names_used_in_annotations_only():
    rows, columns = 3, 7

    @T.prim_func
    def f(A: T.Buffer((rows, columns), "float32")):
        T.evaluate(0)

    assert [int(e) for e in f.buffer_map[f.params[0]].shape] == [3, 7]


def test_columns_count_characters_not_bytes():
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def f(Ä: T.Buffer((4,), "float32")):
            Ä[0] = Ä[1] + ö  # noqa: F821

    lines = str(caught.value).splitlines()
    assert lines[-2].index("ö") == lines[-1].index("^")
    assert lines[-1].count("^") == 1


def test_errors_come_without_the_inside_of_the_parser():
    with pytest.raises(ScriptError) as caught:

        @T.prim_func
        def f():
            for i in range(3):
                T.evaluate(i + j)  # noqa: F821

    assert len(caught.traceback) <= 4


def test_failures_of_the_users_functions_keep_their_traceback():
    def broken():
        raise LookupError("mine")

    with pytest.raises(ScriptError, match="LookupError: mine") as caught:

        @T.prim_func
        def f():
            broken()

    assert isinstance(caught.value.__cause__, LookupError)
