"""Programs with thousands of statements, stages, terms, buffers or operators."""

import ast
import copy
import pickle
import sys
import time

import numpy as np
import pytest

import tilewright as tvm
from tilewright import arith, relax, te, tir
from tilewright.error import NestingError, ScriptError
from tilewright.ir import load_json, save_json, structural_equal, structural_hash
from tilewright.processes.requests import dumps
from tilewright.script import relax as R
from tilewright.tir.interpreter import interpret

LEVELS = 400 if (3, 12) <= sys.version_info < (3, 13) else 2_000
"""Early releases of CPython 3.12 allow 1,500 nested calls through C, which no one can raise."""

ONES = np.ones(4, "float32")


def long_sum(terms):
    """``B[i] = A[i] + A[i] + ...``."""
    A = te.placeholder((4,), name="A")

    def total(i):
        value = A[i]
        for _ in range(terms - 1):
            value = value + A[i]
        return value

    return [A, te.compute((4,), total, name="B")]


def nested_calls(levels):
    """``B[i] = sqrt(sqrt(...))``."""
    A = te.placeholder((4,), name="A")

    def root(i):
        value = A[i]
        for _ in range(levels):
            value = te.sqrt(value)
        return value

    return [A, te.compute((4,), root, name="B")]


def chain(stages):
    """Tensors, each one more than the one before."""
    A = tensor = te.placeholder((4,), name="A")
    for position in range(stages):
        source = tensor
        tensor = te.compute((4,), lambda i, t=source: t[i] + 1.0, name=f"T{position}")
    return [A, tensor]


def run(module, values=ONES):
    result = np.zeros(4, "float32")
    module(values, result)
    return result


def test_a_sum_of_thousands_of_terms():
    function = te.create_prim_func(long_sum(LEVELS))
    assert structural_equal(function, te.create_prim_func(long_sum(LEVELS)))
    assert not structural_equal(function, te.create_prim_func(long_sum(LEVELS + 1)))
    assert structural_hash(function) == structural_hash(te.create_prim_func(long_sum(LEVELS)))
    result = np.zeros(4, "float32")
    interpret(function, ONES, result)
    np.testing.assert_array_equal(result, LEVELS)
    np.testing.assert_array_equal(run(tvm.build(function)), LEVELS)
    assert "+ A[v_i]" in repr(function)


def test_a_long_sum_as_text_and_as_json():
    function = te.create_prim_func(long_sum(LEVELS // 2))
    assert structural_equal(tvm.script.from_source(function.script()), function)
    assert structural_equal(load_json(save_json(function)), function)


def test_a_long_sum_of_a_te_schedule():
    args = long_sum(LEVELS)
    schedule = te.create_schedule(args[1].op)
    schedule[args[1]].vectorize(args[1].op.axis[0])
    np.testing.assert_array_equal(run(tvm.build(schedule, args, target="llvm")), LEVELS)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_deeply_nested_calls(target):
    built = tvm.build(te.create_prim_func(nested_calls(LEVELS // 4)), target=target)
    np.testing.assert_allclose(run(built, np.full(4, 3, "float32")), 1, rtol=1e-5)


def test_text_that_python_cannot_parse_is_an_error_with_a_place():
    text = te.create_prim_func(nested_calls(400)).script()
    with pytest.raises(ScriptError, match="too many nested parentheses"):
        tvm.script.from_source(text)
    with pytest.raises(SyntaxError):  # it is Python's own limit
        ast.parse(text)


def test_long_index_expressions_are_simplified():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    index = x
    for step in range(LEVELS):
        index = index + (y if step % 2 else x) * step
    half = LEVELS // 2
    expected = x * (half * (half - 1) + 1) + y * (half * half)
    assert structural_equal(arith.Analyzer().simplify(index), arith.Analyzer().simplify(expected))


def test_questions_about_long_expressions():
    x = tir.Var("x", "int32")
    value = x
    for term in range(3000):
        value = value + tir.Var(f"y{term}", "int32")
    slope, rest = arith.detect_linear_equation(value * 2, [x])
    assert slope.value == 2
    assert rest.dtype == "int32"
    assert copy.deepcopy(value) is value
    buffer = tir.decl_buffer((4,), "int32", name="A")
    block = tir.Block([], [], [], "b", tir.BufferStore(buffer, buffer[0] + value, [0]))
    reads, writes, unknown = tir.analysis.get_block_access_region(block)
    assert [len(reads), len(writes), len(unknown)] == [1, 1, 0]


def test_a_long_sum_is_sent_to_a_child():
    function = te.create_prim_func(long_sum(LEVELS))
    assert structural_equal(pickle.loads(dumps(function)), function)


def test_more_stages_than_python_has_frames():
    args = chain(1_200)
    lowered = tvm.lower(te.create_schedule(args[1].op), args)
    assert lowered["main"].script().count("for i in") == 1_200


def test_a_chain_of_producers_is_inlined_up_to_a_size():
    np.testing.assert_array_equal(run(tvm.build(te.create_prim_func(chain(200)))), 201)


def test_inlined_stages_become_one_deep_expression():
    args = chain(300)
    schedule = te.create_schedule(args[1].op)
    for stage in schedule.stages[1:-1]:
        stage.compute_inline()
    np.testing.assert_array_equal(run(tvm.build(schedule, args, target="llvm")), 301)


def nested(levels, wrap):
    """A function whose only statement is inside of `levels` others."""
    buffer, handle = tir.decl_buffer((4,), "float32", name="A"), tir.Var("a", "handle")
    body = tir.BufferStore(buffer, tir.const(1.0, "float32"), (tir.const(0),))
    for level in range(levels):
        body = wrap(level, body, buffer)
    return tir.PrimFunc((handle,), body, buffer_map={handle: buffer})


def loop(level, body, _):
    extent = tir.const(2 if level < 3 else 1)
    return tir.For(tir.Var(f"i{level}", "int32"), tir.const(0), extent, tir.ForKind.SERIAL, body)


def branch(level, body, buffer):
    return tir.IfThenElse(buffer[1] < float(level + 1), body, None)


@pytest.mark.parametrize("wrap", [loop, branch])
def test_deeply_nested_statements(wrap):
    array = np.zeros(4, "float32")
    tvm.build(nested(300, wrap))(array)
    np.testing.assert_array_equal(array, [1, 0, 0, 0])


def test_what_nests_deeper_than_any_stack_is_a_clear_error():
    value = tir.Var("x", "float32")
    for _ in range(150_000):
        value = tir.exp(value)
    with pytest.raises(NestingError, match=r"structural_hash: .* nest too deeply"):
        structural_hash(value)


def test_functions_with_many_parameters():
    count = 110
    parameters = ", ".join(f"A{n}: T.Buffer((4,), 'float32')" for n in range(count))
    stores = "\n".join(f"    A{n + 1}[0] = A{n}[0] + T.float32(1)" for n in range(count - 1))
    function = tvm.script.from_source(f"@T.prim_func\ndef main({parameters}):\n{stores}")
    arrays = [np.zeros(4, "float32") for _ in range(count)]
    tvm.build(function)(*arrays)
    assert arrays[-1][0] == count - 1


def test_a_graph_function_joins_many_arrays():
    inputs = [relax.Var(f"x{n}", R.Tensor((4,), "float32")) for n in range(80)]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        builder.emit_func_output(builder.emit(relax.op.concat(inputs, 0)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
    arrays = [np.full(4, n, "float32") for n in range(80)]
    joined = machine["main"](*map(tvm.nd.array, arrays)).numpy()
    np.testing.assert_array_equal(joined, np.concatenate(arrays))


def cpu_seconds(action):
    """The processor time of a call, which other processes hardly change."""
    start = time.process_time()
    action()
    return time.process_time() - start


def test_code_of_hundreds_of_arrays_takes_linear_time():
    placeholders = [te.placeholder((4,), name=f"A{n}") for n in range(320)]
    total = te.compute((4,), lambda i: sum(A[i] for A in placeholders), name="total")
    module = tvm.build(te.create_prim_func([*placeholders, total]), target="llvm")
    result = np.zeros(4, "float32")
    assert cpu_seconds(lambda: module(*[ONES] * 320, result)) < 2.5
    np.testing.assert_array_equal(result, 320)


def test_straight_line_code_with_thousands_of_stores_takes_linear_time():
    rows, count = 12, 256
    parameters = ", ".join(f"B{row}: T.Buffer(({count},), 'float32')" for row in range(rows))
    stores = "\n".join(
        f"        B{row}[i] = A[i] * T.float32({row + 1}) + B{(row + 1) % rows}[i]"
        for row in range(rows)
    )
    text = f"@T.prim_func\ndef main(A: T.Buffer(({count},), 'float32'), {parameters}):\n"
    module = tvm.build(tvm.script.from_source(f"{text}    for i in T.unroll({count}):\n{stores}"))
    arrays = [np.ones(count, "float32") for _ in range(rows + 1)]
    assert cpu_seconds(lambda: module(*arrays)) < 4
    assert arrays[1][-1] == 2


def test_a_chain_of_private_functions_is_inlined_in_linear_time():
    def inline(count):
        builder = relax.BlockBuilder()
        called = None
        for number in range(count):
            x = relax.Var("x", R.Tensor((4,), "float32"))
            is_main = number == count - 1
            with builder.function("main" if is_main else f"f{number}", [x], private=not is_main):
                value = builder.emit(relax.op.exp(x))
                if called is not None:
                    value = builder.emit(relax.Call(called, [value]))
                called = builder.emit_func_output(value)
        module = builder.get()
        inlined = []
        seconds = cpu_seconds(
            lambda: inlined.append(relax.transform.InlinePrivateFunctions()(module))
        )
        assert [name.name_hint for name in inlined[0].functions] == ["main"]
        return seconds

    inline(2)
    assert inline(400) < 2.5


def test_deeply_nested_blocks_are_scheduled():
    always = tir.const(True, "bool")

    def block(level, body, buffer):
        written = tir.BufferRegion.of_element(buffer, (tir.const(0),))
        return tir.BlockRealize((), always, tir.Block((), (), (written,), f"block{level}", body))

    schedule = tir.Schedule(nested(200, block))
    schedule.annotate(schedule.get_block("block0"), "mark", 1)
    array = np.zeros(4, "float32")
    tvm.build(schedule.mod["main"])(array)
    np.testing.assert_array_equal(array, [1, 0, 0, 0])
