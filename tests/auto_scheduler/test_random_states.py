"""Random steps: what is not refused computes the same, and replays from its trace."""

import json

from hypothesis import event, given
from hypothesis import strategies as st
from tests.auto_scheduler.computations import MatmulReLU
from tests.te.replaying import replays
from tests.te.schedule.checking import lowered_text

from tilewright.error import TVMError
from tilewright.te.operation import PlaceholderOp

LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=3)
PRIMITIVES = (
    "split", "split", "free", "follow_split", "follow_fused_split", "fuse", "reorder", "parallel",
    "vectorize", "unroll", "pragma", "storage_align", "compute_at", "compute_inline",
    "compute_root", "cache_read", "cache_write", "rfactor",
)  # fmt: skip


def apply(state, primitive, draw):
    """Apply a primitive at a random place."""
    stage = draw(st.integers(0 if primitive == "cache_read" else 2, len(state.stages) - 1))
    iters = state[stage].iters
    place = draw(st.integers(0, max(len(iters) - 1, 0)))
    splits = [n for n, step in enumerate(state.transform_steps) if step.code == "SP"]
    if primitive == "split":
        state.split(stage, place, draw(LENGTHS), draw(st.booleans()))
    elif primitive == "free":
        lengths = draw(st.lists(st.sampled_from([None, None, 2, 3]), min_size=1, max_size=3))
        state.split(stage, place, lengths, draw(st.booleans()))
    elif primitive == "follow_split":
        state.follow_split(stage, place, draw(st.sampled_from([*splits, -1])), 1)
    elif primitive == "follow_fused_split":
        state.follow_fused_split(stage, place, splits[:2], 0, draw(st.booleans()))
    elif primitive == "fuse":
        state.fuse(stage, iters[place : place + 2])
    elif primitive == "reorder":
        state.reorder(stage, draw(st.permutations(iters)))
    elif primitive == "pragma":
        state.pragma(stage, place, "auto_unroll_max_step$8")
    elif primitive == "storage_align":
        state.storage_align(stage, place, 8, 1)
    elif primitive == "compute_at":
        target = draw(st.integers(0, len(state.stages) - 1))
        state.compute_at(stage, target, draw(st.integers(0, 3)))
    elif primitive in ("compute_inline", "compute_root"):
        getattr(state, primitive)(stage)
    elif primitive == "cache_read":
        state.cache_read(stage, "global", [draw(st.integers(0, len(state.stages) - 1))])
    elif primitive == "cache_write":
        state.cache_write(stage, "local")
    elif primitive == "rfactor":
        state.rfactor(stage, place, 0)
    else:
        getattr(state, primitive)(stage, place)


@given(st.data())
def test_random_steps_keep_the_result(data):
    p = MatmulReLU()
    state = p.state()
    for primitive in data.draw(st.lists(st.sampled_from(PRIMITIVES), min_size=3, max_size=12)):
        text, steps = str(state), len(state.transform_steps)
        try:
            apply(state, primitive, data.draw)
        except TVMError:
            event(f"{primitive} refused")
            assert (str(state), len(state.transform_steps)) == (text, steps)
        else:
            event(f"{primitive} applied")
    try:
        program = lowered_text(state.schedule, p.args)
    except TVMError as error:  # where a stage is computed is checked as a whole
        event(f"not lowered: {str(error).split(' ')[0]}")
        return
    p.check(state, native=False)
    assert str(state).count(" = ...") == sum(
        stage.compute_at != "inlined" and not isinstance(stage.op, PlaceholderOp)
        for stage in state.stages
    )
    assert lowered_text(state.copy().schedule, p.args) == program
    for other in replays(state.schedule):
        assert json.dumps(other.trace.as_json()) == json.dumps(state.schedule.trace.as_json())
