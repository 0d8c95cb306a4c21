"""Stages that are computed in one place."""

import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

from tilewright import te
from tilewright.error import TEScheduleError


def chain():
    x = te.placeholder((6, 8), name="X")
    y = te.compute((6, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((6, 8), lambda i, j: y[i, j] * 2.0, name="Z")
    w = te.compute((6, 8), lambda i, j: z[i, 7 - j] + z[i, j], name="W")
    value = random_array((6, 8))
    doubled = (value + 1) * 2
    return x, y, z, w, value, doubled[:, ::-1] + doubled


def test_a_group_is_computed_in_one_loop():
    x, y, z, w, value, expected = chain()
    s = te.create_schedule(w.op)
    group = s.create_group(outputs=z, inputs=y, include_inputs=True)
    assert s.groups == [group]
    assert s[y].group is group
    assert s[z].group is group
    before = lowered_text(s, [x, w])
    group.compute_at(s[w], w.op.axis[0])
    text = lowered_text(s, [x, w])
    assert 'Y = T.allocate([8], "float32", "global")' in text
    assert text.count("for i in range(6)") == 1
    check(s, [x, w], [value], [expected])
    s[y].compute_at(s[z], z.op.axis[1])
    assert 'Y = T.allocate([1], "float32", "global")' in lowered_text(s, [x, w])
    check(s, [x, w], [value], [expected])
    group.compute_root()
    s[y].compute_root()
    assert lowered_text(s, [x, w]) == before


def test_what_is_between():
    _, y, z, w, _, _ = chain()
    s = te.create_schedule(w.op)
    group = s.create_group([z], [y])
    assert s[y].group is None
    assert s[z].group is group
    assert s.cache_read(y, "local", [z]).op in s.stage_map
    outer = te.create_schedule(w.op)
    both = outer.create_group(z, y, include_inputs=True)
    assert outer[outer.cache_write(z, "local")].group is both


def test_groups_in_groups():
    x, y, z, w, value, expected = chain()
    s = te.create_schedule(w.op)
    both = s.create_group(z, y, include_inputs=True)
    inner = s.create_group(y, y, include_inputs=True)
    assert inner.group is both
    both.compute_at(s[w], w.op.axis[0])
    assert 'Y = T.allocate([8], "float32", "global")' in lowered_text(s, [x, w])
    inner.compute_at(s[z], z.op.axis[1])
    assert 'Y = T.allocate([1], "float32", "global")' in lowered_text(s, [x, w])
    check(s, [x, w], [value], [expected])


def in_itself(s, y, z, w):
    group = s.create_group(z, y)
    group.compute_at(s[z], z.op.axis[0])


def two(s, y, z, w):
    s.create_group(z, y)
    s.create_group(z, y, include_inputs=True)


MISTAKES = [
    (lambda s, y, z, w: s.create_group(y, y), "there is no stage between"),
    (lambda s, y, z, w: s.create_group(w, z), "create_group on stage W: it is an output"),
    (lambda s, y, z, w: s.create_group(z, y).compute_inline(), "a group of stages cannot be"),
    (lambda s, y, z, w: s.create_group(z, y).op, "a group of stages has no operation"),
    (
        lambda s, y, z, w: s[y].compute_at(s.create_group(z, y), z.op.axis[0]),
        "the parent must be a stage",
    ),
    (in_itself, "compute_at on stage group of Z: stage Z is computed inside of it"),
    (two, "create_group on stage Z: it is in another group than the others"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    _, y, z, w, _, _ = chain()
    with pytest.raises(TEScheduleError, match=message):
        mistake(te.create_schedule(w.op), y, z, w)
