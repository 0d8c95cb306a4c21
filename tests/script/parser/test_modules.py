"""Modules: several functions, calls between them, attributes."""

import pytest

from tilewright.error import ScriptError
from tilewright.ir import Call, DummyGlobalInfo, GlobalVar, IRModule
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import tir as T


def test_calls_between_functions():
    @I.ir_module
    class Calls:
        @T.prim_func
        def main(A: T.Buffer((4,), "int64")):
            A[0] = cls.twice(A[1])  # noqa: F821
            A[1] = Calls.twice(A[2])
            Calls.effect(A)

        @T.prim_func(private=True)
        def twice(x: T.int64) -> T.int64:
            return x * 2

        @T.prim_func
        def effect(p: T.handle("int64")):
            T.evaluate(p)

    assert isinstance(Calls, IRModule)
    assert [v.name_hint for v in Calls.functions] == ["main", "twice", "effect"]
    first, second, third = Calls["main"].body.seq
    for store in (first, second):
        assert isinstance(store.value, Call)
        assert isinstance(store.value.op, GlobalVar)
        assert (store.value.dtype, store.value.op.name_hint) == ("int64", "twice")
    assert third.value.dtype == "void"
    assert third.value.args[0].dtype == "handle"
    assert Calls["twice"].global_symbol is None
    assert Calls["main"].global_symbol == "main"


def test_attributes_and_infos_of_modules():
    @I.ir_module
    class WithAttributes:
        I.module_attrs({"level": 3, "name": "x"})
        I.module_global_infos({"things": [I.dummy_global_info()]})

    assert int(WithAttributes.attrs["level"]) == 3
    assert isinstance(WithAttributes.global_infos["things"][0], DummyGlobalInfo)
    assert len(WithAttributes) == 0


def test_constants_and_macros_of_the_class_body():
    @I.ir_module
    class Sized:
        SIZE = 6

        @T.macro
        def clear(buffer):
            for i in range(SIZE):  # noqa: F821
                buffer[i] = 0.0

        @T.prim_func
        def main(A: T.Buffer((SIZE,), "float32")):
            cls.clear(A)  # noqa: F821

    assert int(Sized["main"].body.extent) == 6


FUNCTION = "@T.prim_func\n    def f():\n        pass"


def make(rows, columns):
    half = columns // 2

    @I.ir_module
    class Made:
        @T.prim_func
        def main(A: T.Buffer((rows, columns), "float32")):
            for i, j in T.grid(rows, half):
                A[i, j] = 0.0

    return Made


def test_modules_made_by_functions_see_local_values():
    for rows, columns in ((2, 4), (3, 8)):
        main = make(rows, columns)["main"]
        buffer = main.buffer_map[main.params[0]]
        assert [int(e) for e in buffer.shape] == [rows, columns]
        assert int(main.body.body.extent) == columns // 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("@T.prim_func\n    def f():\n        cls.g()", "the module has no function `g`"),
        ("def f(self):\n        pass", "needs one decorator"),
        ("x: int = 3", "the body of a module"),
        ("@len\n    def f():\n        pass", "expected @T.prim_func"),
        (f"{FUNCTION}\n    {FUNCTION}", "has a function `f` already"),
        ("I.module_attrs(3)", "expects a dictionary"),
        ("I.module_global_infos({'a': 3})", "lists of global infos"),
    ],
)
def test_mistakes_in_modules(body, message):
    with pytest.raises(ScriptError, match=message):
        from_source(f"@I.ir_module\nclass M:\n    {body}\n")


def test_functions_of_plain_classes_stand_alone():
    class Plain:
        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = 1.0

    assert Plain.f.global_symbol == "f"
