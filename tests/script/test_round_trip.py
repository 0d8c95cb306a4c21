"""Printed text parses back to what was printed."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.random_trees import random_function

from tilewright import script
from tilewright.ir import IRModule, assert_structural_equal
from tilewright.ir.structural import structural_equal


def check(function):
    text = function.script()
    # Random functions mention variables anywhere.
    again = script.from_source(text, check_well_formed=False)
    if not structural_equal(function, again):
        pytest.fail(f"{text}\n\nparses to\n\n{again.script()}\n\n{mismatch(function, again)}")


def mismatch(function, again):
    try:
        assert_structural_equal(function, again)
    except ValueError as error:
        return str(error).split("\n", 1)[0]
    return ""


@given(st.integers(0, 2**32))
def test_random_functions(seed):
    check(random_function(seed))


@given(st.integers(0, 2**32))
def test_random_modules(seed):
    functions = {f"f{k}": random_function(seed + k, depth=2) for k in range(2)}
    functions = {k: f.with_attr("global_symbol", k) for k, f in functions.items()}
    module = IRModule(functions, {"level": 1})
    again = script.from_source(module.script(), check_well_formed=False)
    assert_structural_equal(module, again)


SCRIPTS = {
    "comparisons keep their sides": """
        for i in range(8):
            for j in range(i, 8):
                T.evaluate(j)
            if 0 <= i and 4 > i and i != 2:
                T.evaluate(i)
    """,
    "slices of opaque bounds": """
        A = T.alloc_buffer((64,))
        for i, j in T.grid(8, 8):
            A[T.Div(i, j):T.Div(i, j) + 4] = A[i // j * 4:i // j * 4 + 4]
    """,
    "threads": """
        bx = T.launch_thread("blockIdx.x", 16)
        with T.launch_thread("threadIdx.x", 32) as tx:
            T.evaluate(bx * 32 + tx)
        for i in T.thread_binding(32, thread="threadIdx.y"):
            T.evaluate(i)
    """,
    "calls": """
        A = T.allocate([16], "float32", "global")
        B = T.Buffer((16,), data=A)
        T.call_packed("f", A, B[0], "text", 1)
        T.call_extern("int32", "g", T.address_of(B[3]))
        B[T.Ramp(0, 2, 4)] = T.if_then_else(B[0] > T.float32(0.0), B[4:8], B[8:12])
        B.vstore([T.Ramp(0, 1, 4)], B.vload([T.Ramp(4, 1, 4)], \
predicate=T.Broadcast(T.bool(True), 4)), predicate=T.Broadcast(T.bool(True), 4))
        T.ret(0)
    """,
    "views": """
        n: T.int32 = 3
        A = T.allocate([16], "float32", "shared")
        with T.decl_buffer((4, 4), data=A, scope="shared") as B:
            B[0, 0] = T.float32(1.0)
        C = T.Buffer((2, n), data=A, strides=(n, 2), elem_offset=n * 2, scope="shared", align=64, \
offset_factor=4, buffer_type="auto_broadcast", axis_separators=[1])
        T.realize(C[0:2, 0:n], "shared")
        T.prefetch(C, [T.Range(0, 2), T.Range(1, n)])
        C[0, 1] = T.float32(0.0)
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_text_of_a_parsed_script(name):
    """What was written comes back as it was written, but for what the printer adds."""
    body = textwrap.indent(textwrap.dedent(SCRIPTS[name]).strip("\n"), "    ")
    text = f"# from tilewright.script import tir as T\n\n@T.prim_func\ndef main():\n{body}"
    function = script.from_source(text)
    check(function)
    printed = function.script().split("\n")
    assert [line for line in printed if "# with T.block" not in line] == text.split("\n")
