"""How much memory a call takes."""

from tests.relax.builders import array, module_of, twice

from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.relax.analysis import estimate_memory_usage


def chain(*shape, length):
    x = relax.Var("x", array(*shape))

    def make(builder):
        value = x
        for _ in range(length):
            value = twice(value)
        return value

    return module_of([x], make)


def test_arrays_of_a_chain_share_memory():
    # Five arrays of 4096 bytes are temporary, of which two are needed at once.
    line = estimate_memory_usage(chain(64, 16, length=6)).splitlines()[1]
    assert line == "- main: 8192 bytes, 5 arrays; 20480 bytes if none shared memory"


def test_memory_may_depend_on_sizes():
    n = Size("n", "int64")
    assert "main: n * 64 bytes, 1 arrays" in estimate_memory_usage(chain(n, 16, length=2))


def test_what_is_not_known_is_said():
    x = relax.Var("x", array(2))
    f = relax.Var("f", relax.FuncStructInfo([array(2)], array(2)))
    function = module_of([x, f], lambda builder: relax.Call(f, [x]))["main"]
    assert "main: not known, " in estimate_memory_usage(function)
