"""Parts of graph functions for tests: arrays, and operators that need no others."""

from tilewright import relax, te
from tilewright.relax.op.table import call, register


def array(*shape, dtype="float32"):
    """The struct info of an array."""
    return relax.TensorStructInfo(shape, dtype)


def _same_as_input(inference):
    return inference.tensor(0)


def _elementwise(name, formula):
    def legalize(builder, operation):
        def compute(data):
            return te.compute(data.shape, lambda *i: formula(data(*i)), name)

        return builder.call_te(compute, operation.args[0], primfunc_name_hint=name)

    op = register(f"test.{name}", ("data",), _same_as_input, legalize)

    def make(value):
        return call(op, value)

    make.op = op
    return make


twice = _elementwise("twice", lambda element: element + element)
negative = _elementwise("negative", lambda element: -element)


def bindings_in(function):
    """The bindings of a function, without those in branches."""
    return [binding for block in function.body.blocks for binding in block.bindings]


def module_of(params, make, name="main", **options):
    """A module with one function, of which `make` gives the result from a builder."""
    builder = relax.BlockBuilder()
    with builder.function(name, params, **options):
        builder.emit_func_output(make(builder))
    return builder.get()
