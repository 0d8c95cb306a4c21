"""Passes, their order, their context, and what users write themselves."""

import functools

import pytest

import tilewright as tvm
from tilewright.error import ArgumentError, StructInfoError, TVMError, UnknownNameError
from tilewright.ir import GlobalVar, IRModule, const, structural_equal
from tilewright.ir.convert import attributes
from tilewright.ir.instrument import PassTimingInstrument
from tilewright.ir.transform import ModulePass
from tilewright.tir import Evaluate, PrimFunc
from tilewright.tir.transform import prim_func_pass
from tilewright.transform import PassContext, PrintIR, Sequential, module_pass


def function(value=0):
    return PrimFunc((), Evaluate(const(value)))


def module():
    return IRModule({"f": function()})


def noting(name, opt_level=0, required=None):
    """A pass that appends its name to an attribute of the module."""

    @module_pass(opt_level=opt_level, name=name, required=required)
    def note(mod, ctx):
        return mod.with_attr("order", (*(mod.get_attr("order") or ()), name))

    return note


def order_of(mod):
    return list(mod.get_attr("order") or ())


class TestOwnPasses:
    def test_a_function(self):
        @module_pass(opt_level=1)
        def rename(mod, ctx):
            """Adds a function."""
            assert isinstance(ctx, PassContext)
            mod["g"] = function(1)
            return mod

        before = module()
        after = rename(before)
        assert (len(before), len(after)) == (1, 2), "the pass changes a copy in place"
        assert rename.info == (1, "rename", ())
        assert rename.__doc__ == "Adds a function."

    def test_a_class_with_arguments(self):
        @module_pass(opt_level=0, name="Add")
        class AddFunction:
            def __init__(self, name):
                self.function_name = name

            def transform_module(self, mod, ctx):
                mod[self.function_name] = function(1)
                return mod

        assert "h" in AddFunction("h")(module())
        assert AddFunction("h").info.name == "Add"

    def test_one_that_sees_each_tensor_program(self):
        @prim_func_pass(opt_level=0)
        def mark(func, mod, ctx):
            return func.with_attr("marked", len(mod))

        @prim_func_pass
        def remove(func, mod, ctx):
            return None

        marked = mark(module())
        assert marked["f"].attrs["marked"].value == 1
        assert len(remove(marked)) == 0

    def test_a_module_that_does_not_change_stays_the_same(self):
        same = prim_func_pass(lambda func, mod, ctx: func)
        before = module()
        assert same(before) is before

    def test_something_that_is_no_pass(self):
        with pytest.raises(ArgumentError, match="method 'transform_module'"):
            module_pass(type("Empty", (), {}))
        with pytest.raises(ArgumentError, match="not a pass"):
            Sequential([lambda mod: mod])
        with pytest.raises(ArgumentError, match="call it first"):
            Sequential([ModulePass])
        with pytest.raises(ArgumentError, match="transforms an IRModule, got a PrimFunc"):
            noting("a")(function())
        with pytest.raises(ArgumentError, match="passes is a list of passes"):
            Sequential(noting("a"))
        with pytest.raises(ArgumentError, match="b: required is a list of passes, got 'a'"):
            noting("b", required="a")

    def test_a_function_without_a_name(self):
        change = module_pass(functools.partial(lambda value, mod, ctx: module(), 1))
        assert change.name == "partial"
        assert len(change(module())) == 1


class TestErrors:
    def failing(self, error):
        @module_pass(name="Failing")
        def fail(mod, ctx):
            raise error

        return fail

    def test_an_error_names_the_innermost_pass(self):
        error = StructInfoError("the shapes differ")
        with pytest.raises(StructInfoError, match=r"^Failing: the shapes differ$"):
            Sequential([Sequential([self.failing(error)], name="inner")])(module())

    def test_an_error_of_another_class_keeps_it(self):
        with pytest.raises(KeyError, match="Failing: lost"):
            self.failing(KeyError("lost"))(module())
        with pytest.raises(OSError, match="No such file"):
            self.failing(FileNotFoundError(2, "No such file"))(module())
        with pytest.raises(ValueError, match=r"^Failing$"):
            self.failing(ValueError())(module())

    @pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="notes came with Python 3.11")
    def test_an_error_whose_text_cannot_be_changed_gets_a_note(self):
        with pytest.raises(OSError, match="No such file") as caught:
            self.failing(FileNotFoundError(2, "No such file"))(module())
        assert caught.value.__notes__ == ["raised by Failing"]

    def test_a_pass_that_gives_no_module(self):
        with pytest.raises(ArgumentError, match="Nothing: a pass gives an IRModule"):
            module_pass(lambda mod, ctx: None, name="Nothing")(module())


class TestOrder:
    def test_one_after_the_other(self):
        assert order_of(Sequential([noting("a"), noting("b")])(module())) == ["a", "b"]

    def test_levels_and_names_of_the_context(self):
        passes = Sequential([noting("a"), noting("b", opt_level=3), noting("c", opt_level=2)])
        assert order_of(passes(module())) == ["a", "c"]
        with PassContext(opt_level=3):
            assert order_of(passes(module())) == ["a", "b", "c"]
        with PassContext(opt_level=0, required_pass=["b"], disabled_pass=["a"]):
            assert order_of(passes(module())) == ["b"]
            with PassContext(config={}):
                assert order_of(passes(module())) == ["b"], "as in the context around"
            with PassContext(disabled_pass=[]):
                assert order_of(passes(module())) == ["a", "b"]
        assert order_of(passes(module())) == ["a", "c"]

    def test_a_pass_outside_of_a_sequence_always_runs(self):
        with PassContext(opt_level=0):
            assert order_of(noting("a", opt_level=3)(module())) == ["a"]

    def test_required_passes(self):
        first = noting("first of all")
        by_name = noting("by name", required=["first of all"])
        by_value = noting("by value", required=[first])
        assert order_of(Sequential([by_name])(module())) == ["first of all", "by name"]
        assert order_of(Sequential([by_value])(module())) == ["first of all", "by value"]
        with pytest.raises(UnknownNameError, match="did you mean 'first of all'"):
            Sequential([noting("d", required=["first of al"])])(module())

    def test_a_required_pass_that_needs_arguments(self):
        @module_pass(name="NeedsArguments")
        class Needs:
            def __init__(self, argument):
                self.argument = argument

            def transform_module(self, mod, ctx):
                return mod

        with pytest.raises(ArgumentError, match="without arguments"):
            Sequential([noting("e", required=["NeedsArguments"])])(module())


def test_a_target_around_passes():
    seen = []
    look = module_pass(lambda mod, ctx: seen.append(tvm.target.Target.current()) or mod)
    with tvm.target.Target("llvm"):
        look(module())
    look(module())
    assert [str(target.kind.name) if target else None for target in seen] == ["llvm", None]


def test_attributes_and_devices_of_the_module_stay():
    before = IRModule({"f": function()}, attributes({"a": 1}), {"vdevice": ()})
    after = prim_func_pass(lambda func, mod, ctx: func.with_attr("b", 1))(before)
    assert structural_equal(after.attrs, before.attrs)
    assert list(after.global_infos) == ["vdevice"]
    assert after.get_global_var("f") == GlobalVar("f")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instruments": [object()]}, "not an instrument; decorate its class"),
        ({"instruments": [PassTimingInstrument]}, "not an instrument; make one of it"),
        ({"instruments": PassTimingInstrument()}, "instruments is a list"),
        ({"disabled_pass": "FoldConstant"}, "disabled_pass is a list of names of passes"),
        ({"required_pass": [noting("a")]}, "required_pass is a list of names of passes"),
        ({"opt_level": "3"}, "opt_level is an integer, got '3'"),
        ({"config": ["a"]}, "config is a dictionary"),
    ],
)
def test_the_context_names_the_argument_that_is_wrong(options, message):
    with pytest.raises(ArgumentError, match=f"PassContext: .*{message}"):
        PassContext(**options)
    assert issubclass(ArgumentError, TVMError)


def test_printing_the_module_between_passes(capsys):
    before = module()
    assert Sequential([PrintIR("in between"), PrintIR()])(before) is before
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# in between"
    assert lines[1:] == before.script().splitlines() * 2
