"""Messages about mistakes: what is wrong, the way out, and a caret under the exact range."""

import pytest

from tilewright.error import DiagnosticError, ScriptError, TVMError
from tilewright.script import from_source
from tilewright.script import tir as T

HEADER = (
    "@T.prim_func\n"
    'def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "int32"), n: T.int32, h: T.handle):\n'
)

MISTAKES = [
    # statement, what the message says, what is underlined
    ("A[0, 0] = A[vk, 0]", "undefined name `vk`", "vk"),
    ("index = n\nA[0, 0] = A[indx, 0]", "did you mean `index`?", "indx"),
    ("A[0, 0, 0] = 1.0", "buffer A has 2 dimensions, got 3 indices", "A[0, 0, 0]"),
    ("A[0] = 1.0", "buffer A has 2 dimensions, got 1 index", "A[0]"),
    ("x = B[0, n]", "buffer B has 1 dimension, got 2 indices", "B[0, n]"),
    ("B[0] = A[0, 0]", "write T.Cast(\"int32\", ...)", "A[0, 0]"),
    ("B[0] = 1.5", "1.5 is not a value of dtype int32", "1.5"),
    ("B[B[0] * 0.5] = 1", "an index is an integer", "B[B[0] * 0.5]"),
    ("B[0] = A", "cannot store a Buffer", "A"),
    ("x = A + 1", "read an element, such as A[0, 0]", "A + 1"),
    ("x = T.expp(n)", "did you mean T.exp?", "T.expp"),
    ("x = n / 2", "use floordiv (//)", "n / 2"),
    ("x = min(n, 2)", "write T.min", "min(n, 2)"),
    ("x = T.max(n)", "missing a required argument: 'right'", "T.max(n)"),
    ("T.evaluate(n, n)", "too many positional arguments", "T.evaluate(n, n)"),
    ("x = n.dtyp", "did you mean `dtype`?", "n.dtyp"),
    ("if n:\n    pass", "needs a scalar bool, got n of dtype int32", "n"),
    ("while n + 1:\n    pass", "needs a scalar bool", "n + 1"),
    ('assert n, "no"', "needs a scalar bool", "n"),
    ("while n > 0:\n    break", "`break` is not possible in a script: write `while`", "break"),
    ("for i in [1, 2]:\n    pass", "expected T.grid", "[1, 2]"),
    ("for i, j in T.grid(2, 3, 4):\n    pass", "2 names for 3 values", "i, j"),
    ("for i in T.grid(2, 3):\n    pass", "makes 2 loops, 1 name given", "i"),
    ("for i in range(0, 8, 2):\n    pass", "step 1", "range(0, 8, 2)"),
    ("for A[0] in range(8):\n    pass", "a loop variable is a name", "A[0]"),
    ("for i in range(8):\n    pass\nelse:\n    pass", "no `else`", "pass"),
    ("T.grid(8)", "is a loop: write `for i in ...:`", "T.grid(8)"),
    ("with T.grid(8) as i:\n    pass", "is a loop", "T.grid(8)"),
    ("with 3:\n    pass", "expected a construct such as T.block, got an int", "3"),
    ('with T.block("b") as b:\n    pass', "defines nothing that could be named", "b"),
    ('b = T.block("b")', "defines nothing", "b"),
    ("with T.init():\n    pass", "directly inside of T.block", "T.init()"),
    ("T.reads(A[0, 0])", "belongs inside of `with T.block(...)`", "T.reads(A[0, 0])"),
    ("try:\n    pass\nexcept E:\n    pass", "`try` is not possible", "try:"),
    ("import os", "import outside of the function", "import os"),
    ("def g():\n    pass", "decorate it with `@T.macro`", "def g():"),
    ("x: T.int32 = A[0, 0]", "write T.Cast(\"int32\", ...)", "A[0, 0]"),
    ("x: 3 = n", "expected a type such as T.int32", "3"),
    ("x: T.int32", "needs a value", "x: T.int32"),
    ("a, b = n", "2 names for a single value", "a, b"),
    ("n.x = 3", "expected a name or an element of a buffer", "n.x"),
    ("n[0] = 3", "only buffers can be stored to", "n[0]"),
    ("if n > 0:\n    y = n + 1\nB[y] = 1", "defined only in a block that ended at line 4", "y"),
    ("C = T.match_buffer(n, (4,))", "annotate it with T.handle", "T.match_buffer(n, (4,))"),
    ("C = T.match_buffer(h)", "needs the shape", "T.match_buffer(h)"),
    ("C = T.alloc_buffer((-3,))", "extent -3 is negative", "T.alloc_buffer((-3,))"),
    ("T.alloc_buffer((3,), 'flot')", "unknown dtype 'flot'", "T.alloc_buffer((3,), 'flot')"),
    ("C = T.Buffer((4,), data=n)", "data= is a pointer", "T.Buffer((4,), data=n)"),
    ("T.allocate_const([1], 'int8', 3)", "do not fill", "T.allocate_const([1], 'int8', 3)"),
    ("T.func_attr({'a': n})", "needs a constant", "T.func_attr({'a': n})"),
    ("'text' + n", "combines numbers, got a str", "'text' + n"),
    ("[1, 2]", "this has no effect: it is a list", "[1, 2]"),
    ("x = (1 +", "this is not Python", None),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "message", "underlined"), MISTAKES)
def test_mistakes_are_shown_where_they_are(statement, message, underlined):
    body = "\n".join("    " + line for line in statement.split("\n"))
    with pytest.raises(ScriptError) as caught:
        from_source(HEADER + body + "\n")
    lines = str(caught.value).splitlines()
    assert message in lines[0]
    assert lines[1].lstrip().startswith("--> <script>:")
    assert len(lines) == 5
    if underlined is not None:
        start, stop = lines[-1].index("^"), lines[-1].rindex("^") + 1
        assert lines[-2][start:stop] == underlined


def test_the_error_is_what_python_programmers_expect():
    with pytest.raises(ScriptError) as caught:
        from_source(HEADER + "    oops\n")
    error = caught.value
    assert isinstance(error, (SyntaxError, TVMError, DiagnosticError))
    assert (error.filename, error.lineno, error.offset) == ("<script>", 3, 5)
    assert error.text == "    oops"
    assert error.msg == "undefined name `oops`"


def test_statements_outside_of_a_script_are_refused():
    with pytest.raises(DiagnosticError, match="inside of"):
        T.evaluate(1)
    with pytest.raises(DiagnosticError, match="inside of"):
        T.func_attr({})
    with pytest.raises(DiagnosticError, match="only possible inside"), T.block("b"):
        pass


def test_long_lines_are_cut_around_the_place():
    text = HEADER + "    T.evaluate(" + "n + " * 100 + "oops)\n"
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    lines = str(caught.value).splitlines()
    assert len(lines[-2]) < 200
    start = lines[-1].index("^")
    assert lines[-2][start : start + 4] == "oops"
