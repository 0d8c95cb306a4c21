"""What a state refuses, and that it stays as it was then."""

import pytest
from tests.auto_scheduler.computations import MatmulReLU

from tilewright import te
from tilewright.auto_scheduler.loop_state import State
from tilewright.error import ArgumentError, ArgumentValueError, TEScheduleError

MISTAKES = {
    "a stage that does not exist": (
        lambda s, p: s.compute_root(9),
        ArgumentValueError,
        r"compute_root: there is no stage 9; there are 0 A, 1 B, 2 C, 3 D",
    ),
    "a tensor of another computation": (
        lambda s, p: s.split(MatmulReLU().D, 0, [2]),
        TEScheduleError,
        "cannot find the stage of D; the schedule has A, B, C, D",
    ),
    "no stage": (lambda s, p: s.compute_inline("C"), ArgumentError, "indexed by a tensor"),
    "an iterator by a number that there is not": (
        lambda s, p: s.parallel(p.D, 7),
        ArgumentValueError,
        "parallel: stage D has no iterator 7; it has i, j",
    ),
    "an iterator of another stage": (
        lambda s, p: s.vectorize(p.D, s[p.C].iters[0]),
        ArgumentValueError,
        "vectorize: stage D has no iterator i; it has i, j",
    ),
    "an iterator that has been split": (
        lambda s, p: (s.split(p.D, s[p.D].iters[0], [2]), s.split(p.D, p.old, [2])),
        ArgumentValueError,
        "split: stage D has no iterator i; it has i.0, i.1, j",
    ),
    "an iterator of an input": (
        lambda s, p: s.parallel(p.A, 0),
        ArgumentValueError,
        "stage A has no iterator 0; it has none",
    ),
    "no iterator": (
        lambda s, p: s.parallel(p.D, "i"),
        ArgumentError,
        "expected an iterator such as state",
    ),
    "one iterator for a list": (
        lambda s, p: s.fuse(p.D, s[p.D].iters[0]),
        ArgumentError,
        "fuse: expected a list of iterators",
    ),
    "no lengths": (lambda s, p: s.split(p.D, 0, []), ArgumentError, "expected a list of lengths"),
    "a length that is no integer": (
        lambda s, p: s.split(p.D, 0, [2.5]),
        ArgumentError,
        r"split of i of stage D: a length is an integer or None, got 2\.5",
    ),
    "a length of zero": (
        lambda s, p: s.split(p.D, 0, [0, 2]),
        TEScheduleError,
        "factor must be positive, got 0",
    ),
    "a length of zero of a part": (
        lambda s, p: s.split(p.D, 0, [2, 0], False),
        TEScheduleError,
        "nparts must be positive, got 0",
    ),
    "lengths that do not divide the extent beside free ones": (
        lambda s, p: s.split(p.D, 0, [None, 5]),
        ArgumentValueError,
        r"split of i of stage D: the lengths \[None, 5\] are free in part, .* the extent, 12",
    ),
    "lengths of what is not decided beside free ones": (
        lambda s, p: (s.split(p.D, 0, [None]), s.split(p.D, 0, [None, 2])),
        ArgumentValueError,
        "split of i.0 of stage D: .* the extent, which is not decided",
    ),
    "a step that does not exist": (
        lambda s, p: s.follow_split(p.D, 0, 3, 1),
        ArgumentValueError,
        r"step 3 is missing, but a split \(SP\) is followed; splits are missing",
    ),
    "a step that is no split": (
        lambda s, p: (s.compute_root(p.C), s.follow_split(p.D, 0, 0, 1)),
        ArgumentValueError,
        "step 0 is CR, but a split",
    ),
    "more parts than the split has": (
        lambda s, p: (s.split(p.D, 0, [2, 2]), s.follow_split(p.C, 0, 0, 3)),
        ArgumentValueError,
        "step 0 has 2 lengths, so n_split must be from 1 to 2, got 3",
    ),
    "a level that the split does not have": (
        lambda s, p: (s.split(p.D, 0, [2]), s.follow_fused_split(p.C, 0, [0], 1, True)),
        ArgumentValueError,
        "follow_fused_split: step 0 has 1 lengths, none at level 1",
    ),
    "one step for a list": (
        lambda s, p: s.follow_fused_split(p.C, 0, 0, 1, True),
        ArgumentError,
        "expected a list of steps, got 0",
    ),
    "iterators that are not neighbours": (
        lambda s, p: s.fuse(p.C, [0, 2]),
        TEScheduleError,
        "consecutive",
    ),
    "the same iterator twice": (
        lambda s, p: s.reorder(p.D, [0, 0]),
        TEScheduleError,
        "same axis can not appear more than once",
    ),
    "a vector of a reduction": (
        lambda s, p: s.vectorize(p.C, 2),
        TEScheduleError,
        "cannot vectorize k",
    ),
    "a thread that does not exist": (
        lambda s, p: s.bind(p.D, 0, "threadIdx.w"),
        ArgumentValueError,
        r"bind: there is no thread 'threadIdx\.w'; did you mean",
    ),
    "no mark": (lambda s, p: s.pragma(p.D, 0, 3), ArgumentError, "the mark is a string, got 3"),
    "a mark with a value that is no integer": (
        lambda s, p: s.pragma(p.D, 0, "auto_unroll_max_step$many"),
        ArgumentValueError,
        "'many' in 'auto_unroll_max_step",
    ),
    "an output that is inlined": (
        lambda s, p: s.compute_inline(p.D),
        TEScheduleError,
        "it is an output",
    ),
    "a reader that does not read": (
        lambda s, p: s.cache_read(p.A, "local", [p.D]),
        TEScheduleError,
        "does not read A",
    ),
    "a sum that is none": (lambda s, p: s.rfactor(p.D, 0, 0), TEScheduleError, "not a reduction"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    apply, error, message = MISTAKES[mistake]
    p = MatmulReLU()
    state = p.state()
    p.old = state[p.D].iters[0]
    with pytest.raises(error, match=message):
        apply(state, p)


@pytest.mark.parametrize(
    "apply",
    [
        lambda s, p: s.split(p.D, 0, [0, 2]),
        lambda s, p: s.split(p.D, 0, [2, 0], False),
        lambda s, p: s.vectorize(p.C, 2),
        lambda s, p: s.cache_read(p.A, "local", [p.D]),
    ],
)
def test_after_a_refusal_the_state_is_as_before(apply):
    p = MatmulReLU()
    state = p.state()
    state.split(p.D, 1, [4])
    text, trace, steps = str(state), str(state.schedule.trace), list(state.transform_steps)
    with pytest.raises(TEScheduleError):
        apply(state, p)
    assert (str(state), str(state.schedule.trace)) == (text, trace)
    assert state.transform_steps == steps
    state.vectorize(p.D, state[p.D].iters[2])
    p.check(state)


def test_a_schedule_must_be_new():
    p = MatmulReLU()
    schedule = p.schedule()
    schedule[p.D].parallel(p.D.op.axis[0])
    with pytest.raises(ArgumentValueError, match="something has been done to the schedule"):
        State(schedule)
    with pytest.raises(ArgumentError, match=r"expected a state or a te\.Schedule"):
        State(te.placeholder((3,), name="A"))
