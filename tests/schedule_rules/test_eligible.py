"""Which functions have a schedule of their own."""

import pytest
from tests.schedule_rules.programs import matmul, softmax

import tilewright as tvm
from tilewright import te, tir
from tilewright.schedule_rules.eligible import has_schedule, may_schedule
from tilewright.script import from_source
from tilewright.te.schedule.function import unscheduled_function


def test_functions_that_say_what_is_computed_and_nothing_else():
    assert not has_schedule(matmul(4, 4, 4))
    assert not has_schedule(softmax(4, 4))
    assert not has_schedule(from_source(matmul(4, 4, 4).script()))


def test_a_schedule_is_known_by_its_blocks_whatever_the_loops_look_like():
    sch = tir.Schedule(softmax(4, 4))
    assert not has_schedule(sch.mod["main"])  # nothing was done to it
    sch.compute_inline("E")
    assert has_schedule(sch.mod["main"])
    assert not has_schedule(from_source(sch.mod["main"].script()))
    assert not has_schedule(softmax(4, 4))


def test_a_reordered_program_has_a_schedule_also_as_text():
    sch = tir.Schedule(matmul(4, 5, 6))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    assert has_schedule(sch.mod["main"])
    assert has_schedule(from_source(sch.mod["main"].script()))


COPY = """
from tilewright.script import tir as T

@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    T.func_attr({{"tir.noalias": True}})
{body}
"""

PLAIN = """
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""


def parse(body):
    return from_source(COPY.format(body=body))


def test_a_plain_script():
    assert may_schedule(parse(PLAIN))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for i, j in T.grid(8, 4)", "for j, i in T.grid(4, 8)"),
        (
            "for i, j in T.grid(8, 4):\n        with",
            'for i in range(8):\n      for j in T.serial(4, annotations={"x": 1}):\n        with',
        ),
        ("vi, vj = T.axis.remap", 'T.block_attr({"x": 1})\n            vi, vj = T.axis.remap'),
        (
            "for i, j in T.grid(8, 4):\n        with",
            "for i, j in T.grid(8, 4):\n        for k in T.parallel(1):\n          with",
        ),
        (
            'vi, vj = T.axis.remap("SS", [i, j])',
            "vi = T.axis.spatial(8, i)\n            vj = T.axis.spatial(4, 3 - j)",
        ),
        ("vi, vj = T.axis.remap", "T.where(i < 4)\n            vi, vj = T.axis.remap"),
    ],
)
def test_loops_that_somebody_wrote_otherwise(old, new):
    body = PLAIN.replace(old, new)
    assert body != PLAIN
    assert has_schedule(parse(body))


def test_memory_of_another_scope_is_a_schedule():
    body = '    C = T.alloc_buffer((8, 4), scope="local")\n'
    assert has_schedule(parse(body + PLAIN + PLAIN.replace("B[", "C[").replace('"B"', '"C"')))


def test_what_the_attribute_says():
    func = matmul(4, 4, 4)
    assert has_schedule(func.with_attr("tir.is_scheduled", True))
    assert not has_schedule(func.with_attr("tir.is_scheduled", False))


def test_lowered_functions_are_scheduled():
    assert has_schedule(tvm.lower(matmul(4, 4, 4))["main"])


# --- te.Schedule ----------------------------------------------------------------------------


def tensors():
    a = te.placeholder((8, 4), name="A")
    b = te.compute((8, 4), lambda i, j: a[i, j] + 1, name="B")
    return a, b, te.compute((8, 4), lambda i, j: b[i, j] * 2, name="C")


@pytest.mark.parametrize(
    "touch",
    [
        lambda s, a, b, c: s[c].split(c.op.axis[0], 2),
        lambda s, a, b, c: s[c].reorder(c.op.axis[1], c.op.axis[0]),
        lambda s, a, b, c: s[c].parallel(c.op.axis[0]),
        lambda s, a, b, c: s[c].pragma(c.op.axis[0], "unroll_explicit", 1),
        lambda s, a, b, c: s[b].compute_inline(),
        lambda s, a, b, c: s[b].compute_at(s[c], c.op.axis[0]),
        lambda s, a, b, c: s[b].set_scope("local"),
        lambda s, a, b, c: s[b].double_buffer(),
        lambda s, a, b, c: s[b].storage_align(b.op.axis[0], 8, 1),
        lambda s, a, b, c: s.cache_read(a, "local", [b]),
        lambda s, a, b, c: s.cache_write(c, "local"),
        lambda s, a, b, c: s.create_group(outputs=[b], inputs=[a], include_inputs=False),
    ],
)
def test_a_te_schedule_on_which_a_primitive_was_applied(touch):
    a, b, c = tensors()
    s = te.create_schedule(c.op)
    assert unscheduled_function(s, [a, c], "main", None) is not None
    touch(s, a, b, c)
    assert unscheduled_function(s, [a, c], "main", None) is None


def test_the_function_of_an_untouched_te_schedule():
    a, _, c = tensors()
    func = unscheduled_function(te.create_schedule(c.op), [a, c], "twice", None)
    assert func.global_symbol == "twice"
    assert may_schedule(func)
    other = te.compute((8, 4), lambda i, j: a[i, j], name="other")
    assert unscheduled_function(te.create_schedule(c.op), [a, other], "main", None) is None
