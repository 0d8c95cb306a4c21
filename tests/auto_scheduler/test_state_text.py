"""What a state looks like."""

from tests.auto_scheduler.computations import MatmulReLU


def test_loops_in_loops():
    p = MatmulReLU()
    state = p.state()
    cache = state.cache_write(p.C, "local")
    state.compute_inline(p.C)
    i, j = state[p.D].iters
    io, ii = state.split(p.D, i, [4])
    jo, ji = state.split(p.D, j, [None])
    state.reorder(p.D, [io, jo, ii, ji])
    fused = state.fuse(p.D, [io, jo])
    state.parallel(p.D, fused)
    state.compute_at(cache, p.D, ii)
    state.vectorize(p.D, ji)
    state.pragma(p.D, fused, "auto_unroll_max_step$16")
    assert str(state) == (
        "Placeholder: A, B\n"
        "D auto_unroll: 16\n"
        "parallel i.0@j.0@ (None)\n"
        "  for i.1 (0,4)\n"
        "    for i_c (None)\n"
        "      for j_c (None)\n"
        "        for k (None)\n"
        "          C.local = ...\n"
        "    vectorize j.1 (None)\n"
        "      D = ...\n"
    )


def test_where_a_loop_was_split_after_a_stage_went_in():
    p = MatmulReLU()
    state = p.state()
    (i, _) = state[p.D].iters
    state.compute_at(p.C, p.D, i)
    state.split(p.D, i, [3])
    assert str(state.with_bounds()) == (
        "Placeholder: A, B\n"
        "for i.0 (0,4)\n"
        "  for i.1 (0,3)\n"
        "    for i (i_outer * 3 + i_inner,1)\n"
        "      for j (0,24)\n"
        "        for k (0,20)\n"
        "          C = ...\n"
        "    for j (0,24)\n"
        "      D = ...\n"
    )


def test_threads_and_partial_results():
    p = MatmulReLU()
    state = p.state()
    _, ki = state.split(p.C, state[p.C].iters[2], [5])
    partial = state.rfactor(p.C, ki, 0)
    state.bind(partial, state[partial].iters[1], "blockIdx.x")
    state.bind(partial, state[partial].iters[0], "vthread")
    assert str(state).splitlines()[:6] == [
        "Placeholder: A, B",
        "vthread k.1 (0,5)",
        "  blockIdx.x i (0,12)",
        "    for j (0,24)",
        "      for k.0 (0,4)",
        "        C.rf = ...",
    ]
