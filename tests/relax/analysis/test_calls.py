"""Which functions call each other, and what can be computed before a program runs."""

from random import Random

from tests.relax.builders import array, module_of, negative, twice

from tilewright import relax
from tilewright.relax import analysis, op
from tilewright.relax.transform.private_functions import callees_first


def module(calls):
    """Functions that call each other: names, each with the names that it calls."""
    builder = relax.BlockBuilder()
    info = relax.FuncStructInfo([array(2)], array(2))
    names = {name: builder.declare_func(name, info) for name in calls}
    for name, callees in calls.items():
        x = relax.Var("x", array(2))
        with builder.function(name, [x]):
            value = x
            for callee in callees:
                value = builder.emit(relax.Call(names[callee], [value]))
            builder.emit_func_output(value)
    return builder.get()


def groups(**calls):
    found = analysis.detect_recursion(module(calls))
    return [[name.name_hint for name in group] for group in found]


def test_recursion_is_found_in_groups():
    assert groups(a="b", b="c", c="") == []
    assert groups(a="a", b="a") == [["a"]]
    assert groups(a="b", b="c", c="a", d="a") == [["a", "b", "c"]]
    assert groups(a="b", b="a", c="ad", d="c") == [["a", "b"], ["c", "d"]]


def test_what_depends_on_weights_only_is_known_early():
    x, w = relax.Var("x", array(2)), relax.Var("w", array(2))

    def make(builder):
        packed = builder.emit(twice(w), "packed")
        builder.emit(op.call_packed("f", packed), "effect")
        negated = builder.emit(negative(packed), "negated")
        mixed = op.call_pure_packed("add", x, negated, sinfo_args=array(2))
        return relax.Tuple([builder.emit(mixed, "mixed"), negated])

    function = module_of([x, w], make, pure=False)["main"]
    assert analysis.computable_at_compile_time(function) == []
    early = analysis.computable_at_compile_time(function.with_attr("num_input", 1))
    assert [var.name_hint for var in early] == ["packed", "negated"]


def test_unused_bindings_are_removed():
    x = relax.Var("x", array(2))

    def make(builder):
        builder.emit(twice(x))
        return builder.emit(negative(x))

    function = analysis.remove_all_unused(module_of([x], make)["main"])
    assert len(analysis.get_var2val(function)) == 1


def test_groups_are_those_that_reach_each_other():
    random = Random(0)
    for _ in range(40):
        names = "abcdefg"[: random.randint(1, 7)]
        calls = {n: [m for m in names if random.random() < 0.2] for n in names}
        reached = {n: set(calls[n]) for n in names}
        for via in names:
            for n in names:
                reached[n] |= reached[via] if via in reached[n] else set()
        expected = []
        for n in names:
            group = [m for m in names if m in reached[n] and n in reached[m]]
            if n in reached[n] and group not in expected:
                expected.append(group)
        assert groups(**calls) == expected
        order = [name.name_hint for name in callees_first(module(calls))]
        assert sorted(order) == sorted(names)
        for n in names:
            for m in calls[n]:
                assert order.index(m) <= order.index(n) or n in reached[m]


def test_calls_may_nest_deeply():
    calls = {f"f{i}": [f"f{i + 1}"] if i < 1500 else [] for i in range(1501)}
    deep = module(calls)
    assert analysis.detect_recursion(deep) == []
    assert [name.name_hint for name in callees_first(deep)] == list(calls)[::-1]
