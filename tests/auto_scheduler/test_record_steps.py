"""Steps as records have them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.auto_scheduler.computations import MatmulReLU
from tests.auto_scheduler.test_loop_state import PRIMITIVES
from tests.auto_scheduler.test_random_states import PRIMITIVES as RANDOM
from tests.auto_scheduler.test_random_states import apply
from tests.te.schedule.checking import lowered_text

from tilewright import te
from tilewright.auto_scheduler.loop_state import State
from tilewright.auto_scheduler.operation_order import numbered_operations
from tilewright.auto_scheduler.record_steps import apply_steps, steps_as_json
from tilewright.error import RecordError, TVMError

TILED = [
    ["CHW", 2, "local"],
    ["SP", 4, 0, 12, [2, 3], 1],
    ["SP", 4, 3, 24, [1, 8], 1],
    ["RE", 4, [0, 3, 1, 4, 2, 5]],
    ["FSP", 3, 0, 1, 1],
    ["FSP", 3, 2, 2, 1],
    ["RE", 3, [0, 2, 1, 3]],
    ["CA", 3, 4, 3],
    ["CI", 3],
    ["SP", 2, 2, 20, [5], 1],
    ["RE", 2, [2, 3, 0, 1]],
    ["CA", 2, 4, 1],
    ["FU", 4, [0, 1]],
    ["AN", 4, 0, 3],
    ["PR", 4, 0, "auto_unroll_max_step$16"],
    ["AN", 2, 3, 2],
    ["AN", 4, 4, 2],
]


def test_a_tiled_product():
    p = MatmulReLU()
    state = p.state()
    apply_steps(state, TILED)
    assert str(state) == (
        "Placeholder: A, B\n"
        "D auto_unroll: 16\n"
        "parallel i.0@j.0@ (0,6)\n"
        "  for k.0 (None)\n"
        "    for k.1 (None)\n"
        "      for i_c (None)\n"
        "        vectorize j_c (None)\n"
        "          C.local = ...\n"
        "  for i.1 (0,2)\n"
        "    for j.1 (0,1)\n"
        "      for i.2 (0,3)\n"
        "        vectorize j.2 (0,8)\n"
        "          D = ...\n"
    )
    p.check(state)
    assert steps_as_json(state) == TILED


@pytest.mark.parametrize("name", PRIMITIVES)
def test_each_step_is_read_as_it_is_written(name):
    p = MatmulReLU()
    state, other = p.state(), p.state()
    PRIMITIVES[name][0](state, p)
    form = steps_as_json(state)
    apply_steps(other, json.loads(json.dumps(form)))
    assert str(other) == str(state)
    assert lowered_text(other.schedule, p.args) == lowered_text(state.schedule, p.args)
    assert steps_as_json(other) == form


@given(st.data())
def test_random_steps_are_read_as_they_are_written(data):
    p = MatmulReLU()
    state, other = p.state(), p.state()
    names = [name for name in RANDOM if name != "free"]
    for primitive in data.draw(st.lists(st.sampled_from(names), min_size=3, max_size=12)):
        try:
            apply(state, primitive, data.draw)
        except TVMError:
            continue
    apply_steps(other, json.loads(json.dumps(steps_as_json(state))))
    assert (str(other), str(other.schedule.trace)) == (str(state), str(state.schedule.trace))


MISTAKES = {
    "no list": ("SP", "a step is a list that begins with its kind"),
    "an empty list": ([], "a step is a list that begins with its kind"),
    "a number for the kind": ([3, 1], "a step is a list that begins with its kind"),
    "an unknown kind": (["SPL", 2, 0], "there is no kind of steps 'SPL'; did you mean 'SP'?"),
    "too few fields": (["SP", 2, 0, 12], "expected SP, stage, iterator, extent, lengths, flag"),
    "a text for a number": (["CI", "2"], "expected CI, stage"),
    "a truth value for a number": (["CI", True], "expected CI, stage"),
    "a number for a list": (["RE", 2, 0], "expected RE, stage, iterators"),
    "a fraction among lengths": (["SP", 2, 0, 12, [1.5], 1], "expected SP, stage"),
    "no flag": (["SP", 2, 0, 12, [3], 2], "expected SP, stage"),
    "a stage that does not exist": (["CI", 8], "there is no stage 8"),
    "a stage that splits do not find": (["SP", 8, 0, 12, [3], 1], "there is no stage 8"),
    "an iterator that does not exist": (
        ["SP", 2, 4, 12, [3], 1],
        "stage C has no iterator 4; it has i, j, k",
    ),
    "another extent": (
        ["SP", 2, 0, 16, [4], 1],
        "iterator i of stage C has extent 12, but 16 in the record",
    ),
    "a part of an order": (["RE", 2, [1, 0]], r"\[1, 0\] is not an order of them"),
    "an unknown annotation": (["AN", 2, 0, 40], "iterators are not annotated with 40"),
    "an intrinsic": (["AN", 2, 0, 11], "iterators are not annotated with tensorize"),
    "a split that is followed": (["FSP", 2, 0, 7, 1], "step 7 is missing"),
    "what te refuses": (["CI", 2], "compute_inline on stage C: it is a reduction"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_step(mistake):
    step, message = MISTAKES[mistake]
    with pytest.raises(RecordError, match=message) as caught:
        apply_steps(MatmulReLU().state(), [["CR", 2], step])
    assert str(caught.value).startswith("step 1 ")


def test_the_numbers_of_stages():
    a = te.placeholder((4,), name="a")
    b = te.placeholder((4,), name="b")
    c = te.compute((4,), lambda i: a[i] + 1.0, name="c")
    d = te.compute((4,), lambda i: b[i] + c[i], name="d")
    e = te.compute((4,), lambda i: c[i] * a[i], name="e")
    names = [op.name for op in numbered_operations([a, b, d, e])]
    assert names == ["b", "a", "c", "d", "e"]
    assert [op.name for op in numbered_operations([d, a])] == ["b", "a", "c", "d"]
    state = State(te.create_schedule([d.op, e.op]))
    assert [stage.name for stage in state.stages] == names
