"""What tests of passes share."""

from tests.relax.builders import bindings_in

from tilewright import relax
from tilewright.ir import structural_equal


def names_of(function):
    """The operators, or classes, of the values that a function binds outside of branches."""
    return [name_of(binding.value) for binding in bindings_in(function)]


def name_of(value):
    """The operator of a call without its prefix; the class of another value."""
    op = getattr(value, "op", None)
    return getattr(op, "name", type(value).__name__).removeprefix("relax.")


def shape_of(value):
    """The shape of an expression, sizes by their names."""
    return tuple(
        extent.value if hasattr(extent, "value") else str(extent)
        for extent in value.struct_info.extents
    )


def assert_unchanged(transform, mod):
    """The pass changes nothing, and says so by giving the same module."""
    after = transform(mod)
    assert structural_equal(after, mod)
    assert after is mod


def call_extern(*args, out):
    """The call of a registered function."""
    return relax.op.call_dps_packed("outside", args, out)
