"""A text that is parsed runs nothing that its author chose."""

import builtins
import os
import subprocess
from types import FunctionType, ModuleType

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import ScriptError
from tilewright.ir import assert_structural_equal
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T
from tilewright.script.parser import closed_world

IN_A_SHAPE = """
@T.prim_func
def f(A: T.Buffer(({},), "float32")):
    T.evaluate(0)
"""
IN_A_BODY = """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    x = T.meta_var({})
    T.evaluate(0)
"""
IN_A_GRAPH = """
@R.function
def f(x: R.Tensor((4,), "float32")):
    y = R.add(x, {})
    return y
"""
IN_A_STRING = """
@R.function
def f(x: R.Tensor(({!r}, 4), "float32")):
    return x
"""
IN_A_MACRO = """
@T.macro
def m(x, y=4):
    T.evaluate({})

@T.prim_func
def f():
    m(1)
"""
AS_A_DECORATOR = """
@{}
def f():
    T.evaluate(0)
"""
AS_A_CONSTANT = """
x = {}

@T.prim_func
def f():
    T.evaluate(x)
"""
IN_A_MODULE = """
@I.ir_module
class Module:
    I.module_attrs({{"a": {}}})

    @T.prim_func
    def f():
        T.evaluate(0)
"""
PLACES = (
    IN_A_SHAPE, IN_A_BODY, IN_A_GRAPH, IN_A_STRING, IN_A_MACRO, AS_A_DECORATOR,
    AS_A_CONSTANT, IN_A_MODULE,
)  # fmt: skip

ESCAPES = [
    # modules that hold modules
    "tvm.runtime.params.os.system('true')",
    "tilewright.runtime.params.os.system('true')",
    "tvm.tir.op.sys.modules",
    "tvm.script.ir.annotations",
    "tvm.relax.op.image.register",
    "T.sys.modules['os'].system('true')",
    "T.vector.Op.get",
    "T.math",
    "T.Op.get('tir.exp')",
    "T.Op",
    "T.DTYPE_FUNCTIONS",
    "T.annotations",
    "T.Any",
    "R.nn.activation",
    "R.image.register",
    "R.image.topi",
    "I.annotations",
    # underscores
    "T.__dict__",
    "T.__loader__",
    "T.__builtins__",
    "T.exp.__globals__['sys']",
    "T.exp.__code__",
    "().__class__.__base__.__subclasses__()",
    "(1).__class__",
    "''.__class__.__mro__",
    "T._Any",
    "f.__globals__",
    "A._fields",
    "__import__('os').system('true')",
    "__builtins__",
    "__loader__",
    "__file__",
    # attributes of plain Python values and of functions
    "'{0.__class__}'.format(1)",
    "'{}'.format_map({})",
    "'a'.zfill(10)",
    "'a'.encode('utf-8')",
    "'a'.join(['b'])",
    "[].append(1)",
    "{}.setdefault(1, 2)",
    "(1).real",
    "int.from_bytes",
    "str.format('{0.__class__}', 1)",
    "T.exp.func_globals",
    "T.comm_reducer.mro",
    "(lambda x: x).names",
    "T.prim_func.parse",
    "T.prim_func.decorate",
    "T.macro.make",
    "T.float32.format",
    "T.float32.join(['b'])",
    # builtins that look into objects, or call
    "getattr(T, 'sys')",
    "getattr(T, '__dict__')",
    "eval('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "open('/etc/passwd')",
    "globals()",
    "locals()",
    "vars(T)",
    "dir(T)",
    "type(T)",
    "type('X', (), {})",
    "object()",
    "super()",
    "input()",
    "print('x')",
    "help(T)",
    "breakpoint()",
    "setattr(T, 'x', 1)",
    "delattr(T, 'exp')",
    "hasattr(T, 'exp')",
    "map(T.exp, [1])",
    "filter(None, [1])",
    "iter([1])",
    "next(iter([1]))",
    "id(T)",
    "memoryview('a')",
    "bytearray(10)",
    "property(T.exp)",
    "staticmethod(T.exp)",
    "format(1, '>10')",
    "pow(9, 9)",
    "round(1, 9)",
    "exit()",
    "quit()",
    # what the caller gave has no attributes, either
    "numpy.load('x.npy', allow_pickle=True)",
    "numpy.ctypeslib.ctypes",
    "given.secret",
    "given.method()",
    # functions of Python that a decorator would parse as a program's own source
    "T.prim_func(T.exp)",
    "T.prim_func(func=T.exp)",
    "T.macro(T.exp)",
    "R.function(T.exp)",
    "R.function(f=T.exp)",
    "I.ir_module(T.CommReducer)",
    "I.ir_module(mod=T.CommReducer)",
    # indirections
    "(lambda: T.sys)()",
    "(lambda t: t.__dict__)(T)",
    "[t.sys for t in [T]][0]",
    "{'a': T}['a'].sys",
    "(T if True else 0).sys",
    "(True and T).sys",
    "[*[T]][0].sys",
    "(x := T).sys",
    "f'{T.__dict__}'",
    "f'{T.sys!r:>10}'",
    "await T.sys",
    "(yield T.sys)",
    "max([T], key=lambda t: t.sys)",
    "sorted([T], key=lambda t: t.__dict__)",
    "T.index_map(lambda i: T.sys)",
    "T.comm_reducer(lambda x, y: T.sys, [T.float32(0)])",
    # too much
    "9 ** 9 ** 9",
    "1 << 10 ** 9",
    "'a' * 10 ** 10",
    "[0] * 10 ** 10",
    "10 ** 10 * 'a'",
    "f'{1:>1000000000}'",
    "f'{1:{10 ** 9}}'",
    "'%1000000000d' % 1",
    "list(range(10 ** 9))",
    "[*range(10 ** 9)]",
    "T.grid(*range(10 ** 9))",
    "len([i for i in range(10 ** 9)])",
    "sum(range(10 ** 9))",
    "sum([0 for i in range(3000) for j in range(3000)])",
    "[0 for i in range(3000) for j in range(3000) if False]",
    "[[0] * 10 ** 6 for i in range(10 ** 6)]",
    "[[0] * 1000 == [1] * 1000 for i in range(10 ** 6)]",
    "[i in [1] * 1000 for i in range(10 ** 6)]",
    "sum([[1], [2]], [])",
    "T.Buffer(range(10 ** 9))",
    "range(10 ** 30)[5]",
    "list(zip(range(10 ** 9), range(10 ** 9)))",
    "tuple(enumerate(range(10 ** 9)))",
    "set(range(10 ** 9))",
    "int('9' * 10 ** 6)",
]


class Given:
    """A value that the caller gives."""

    secret = 4

    def method(self):
        return 4


GIVEN = {"numpy": np, "given": Given()}


@pytest.fixture(autouse=True)
def small_budget(monkeypatch):
    monkeypatch.setattr(closed_world, "BUDGET", 20_000)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_text_cannot_escape(place, escape, monkeypatch, capfd):
    if place == IN_A_STRING and escape.isidentifier():
        return  # the name of a symbolic size

    def ran(*args, **kwargs):
        raise AssertionError(f"the text ran {args}")

    for owner, name in ((os, "system"), (subprocess, "Popen"), (builtins, "input")):
        monkeypatch.setattr(owner, name, ran)
    with pytest.raises(ScriptError) as error:
        from_source(place.format(escape), GIVEN)
    assert not isinstance(error.value.__cause__, AssertionError)
    assert capfd.readouterr().out == ""


def nested(step, count=60):
    lines = "".join(f"    x{i + 1} = T.meta_var({step.format(x=f'x{i}')})\n" for i in range(count))
    head = '@T.prim_func\ndef f():\n    x0 = T.meta_var("a")\n'
    return f"{head}{lines}    T.evaluate(0)\n"


@pytest.mark.parametrize(
    "step",
    [
        "{x} + {x}", "[{x}, {x}]", "({x}, {x})", "{{'a': {x}, 'b': {x}}}", "f'{{{x}}}{{{x}}}'",
        "[*[{x}], *[{x}]]", "str({x}) + str({x})", "{x} * 2",
    ],
)  # fmt: skip
def test_a_text_cannot_double_a_value_for_ever(step):
    with pytest.raises(ScriptError, match=r"too many elements|too large"):
        from_source(nested(step))


def test_a_text_cannot_call_macros_and_lambdas_for_ever():
    macros = "@T.macro\ndef m0():\n    T.evaluate(0)\n\n"
    for i in range(40):
        macros += f"@T.macro\ndef m{i + 1}():\n    m{i}()\n    m{i}()\n\n"
    lambdas = "x0 = lambda v: v\n"
    for i in range(40):
        lambdas += f"x{i + 1} = lambda v: x{i}(x{i}(v))\n"
    for text, last in ((macros, "m40()"), (lambdas, "T.evaluate(x40(0))")):
        with pytest.raises(ScriptError, match="too many elements or calls"):
            from_source(f"{text}@T.prim_func\ndef f():\n    {last}\n")


@pytest.mark.parametrize(
    "line",
    [
        "import os", "import tilewright.runtime", "import tvm.runtime.params as p", "import numpy",
        "from tilewright import runtime", "from tvm.runtime.params import os", "from os import abc",
        "from tilewright import *", "from . import x", "from tilewright.script import tir, sys",
        "from tilewright.script.tir import sys", "import tilewright.script.parser.text as t",
        "global x", "del T", "T.x = 1", "x = y = T.sys", "with T.sys: pass", "for i in T.sys: pass",
        "class A: pass", "try:\n    x = 1\nexcept T.sys: pass", "raise T.sys", "assert T.sys",
        "x: T.sys = 1", "def g(a=T.sys): pass", "async def g(): pass", "lambda: T.sys",
    ],
)  # fmt: skip
def test_statements_of_a_text_cannot_escape(line):
    with pytest.raises(ScriptError):
        from_source(f"{line}\n@T.prim_func\ndef f():\n    T.evaluate(0)\n")


@pytest.mark.parametrize(
    "default", ["T.sys", "T.__dict__", "numpy.ctypeslib", "getattr(T, 'exp')", "9 ** 9 ** 9"]
)
def test_default_arguments_of_macros_cannot_escape(default):
    text = f"@T.macro\ndef m(x={default}):\n    T.evaluate(0)\n\n@T.prim_func\ndef f():\n    m()\n"
    with pytest.raises(ScriptError):
        from_source(text, GIVEN)


@pytest.mark.parametrize("namespace", [T, R, I], ids=["T", "R", "I"])
def test_namespaces_give_texts_no_other_modules_and_no_classes_but_nodes(namespace):
    given = {}
    for name in dir(namespace):
        try:
            given[name] = closed_world.attribute(namespace, name)
        except tvm.TVMError:
            continue
    assert len(given) > 3
    for name, value in given.items():
        assert not isinstance(value, ModuleType), name
        assert not isinstance(value, type) or issubclass(value, tvm.ir.Node), name
        assert not isinstance(value, FunctionType) or value.__module__.startswith("tilewright.")


def test_calls_by_name_are_only_text():
    func = from_source(AS_A_CONSTANT.format("T.call_packed('os.system', 'true')"))
    assert "os.system" in func.script()


def test_a_trusted_text_may_use_all_of_python():
    text = IN_A_SHAPE.format("given.secret + len(dir(T)) * 0 + tvm.runtime.params.os.getpid() * 0")
    expected = from_source(IN_A_SHAPE.format(4))
    assert_structural_equal(from_source(text, GIVEN, trusted=True), expected)
    with pytest.raises(ScriptError, match="trusted=True"):
        from_source(text, GIVEN)


def test_what_texts_need_is_there():
    text = """
import tvm
from tvm.script import ir as I, tir as T
from tvm.script.parser import relax as R
from tilewright import tir
from __future__ import annotations

sizes = [2 * i for i in range(1, 4)]
scale = lambda x: x * T.float32(2)

@tvm.script.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((sizes[0], max(sizes)), "float32"), B: T.Buffer((2, 6), A.dtype)):
        T.func_attr({"note": f"{sizes[1]:>4}", "sum": sum(sizes), "names": str(len(sizes))})
        for i, j in T.grid(A.shape[0], tir.int32(6)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = scale(given(A[vi, vj])).astype("float32")

    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        y = R.call_tir(cls.f, (x,), R.Tensor((2, 6), "float32"))
        z = R.nn.relu(y)
        return z
"""
    mod = from_source(text, {"given": lambda x: x + T.float32(1)})
    assert mod["f"].attrs["note"] == "   4"
    assert_structural_equal(from_source(mod.script()), mod)
