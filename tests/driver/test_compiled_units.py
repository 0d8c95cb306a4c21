"""Tensor programs as object files of their own."""

import pytest

import tilewright as tvm
from tilewright.driver import compiled_units
from tilewright.driver.compiled_units import compile_units, declaration
from tilewright.driver.object_cache import ObjectCache
from tilewright.ir import GlobalVar
from tilewright.ir.expr import Call
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir import Evaluate

HOST = Target("llvm")


@T.prim_func(private=True)
def doubled(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        y[i] = x[i] + x[i]


@T.prim_func(private=True)
def tripled(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        y[i] = x[i] * T.float32(3)


@pytest.fixture
def compilations(monkeypatch):
    """The symbols that were compiled and not found."""
    found = []
    original = compiled_units.compile_unit

    def compile_unit(program, target):
        found.append(program.symbol)
        return original(program, target)

    monkeypatch.setattr(compiled_units, "compile_unit", compile_unit)
    return found


def compiled(functions, cache=None, target=HOST):
    names = {GlobalVar(name): function for name, function in functions.items()}
    return compile_units(tvm.IRModule(functions), names, target, cache)


def test_a_second_compilation_finds_the_object_files(tmp_path, compilations):
    cache = ObjectCache(tmp_path)
    first = compiled({"f": doubled, "g": tripled}, cache)
    assert len(compilations) == 2
    assert compiled({"g": tripled, "f": doubled}, cache) == first
    assert len(compilations) == 2
    assert len({unit.symbol for unit in first.values()}) == 2


def test_what_differs_is_compiled_again(tmp_path, compilations):
    cache = ObjectCache(tmp_path)
    compiled({"f": doubled}, cache)
    compiled({"f": tripled}, cache)
    compiled({"f": doubled}, cache, Target("llvm -mcpu=x86-64"))
    compiled({"f": doubled.with_attr("tir.is_scheduled", True)}, cache)
    with tvm.transform.PassContext(config={"tir.default_schedule": False}):
        compiled({"f": doubled}, cache)
    assert len(compilations) == 5


def test_without_a_cache_all_is_compiled(compilations):
    compiled({"f": doubled})
    compiled({"f": doubled})
    assert len(compilations) == 2


def test_a_program_that_another_one_calls_is_part_of_it(tmp_path, compilations):
    def caller(x, y):
        call = Call("int32", GlobalVar("callee"), (x.buffer_map[x.params[0]].data, y))
        return x.with_body(Evaluate(call))

    pointer = doubled.buffer_map[doubled.params[1]].data
    main = caller(doubled, pointer)
    cache = ObjectCache(tmp_path)
    name = GlobalVar("f")
    for callee in (doubled, tripled, doubled):
        module = tvm.IRModule({"f": main, "callee": callee})
        compile_units(module, {name: main}, HOST, cache)
    assert len(compilations) == 2


def test_a_declaration_has_no_body():
    declared = declaration(doubled)
    assert declared.attrs == {"tir.is_external": True}
    assert declared.params is doubled.params
