"""Loops that say so ask for what they will read some iterations later."""

import itertools

import numpy as np
import pytest
from tests.passes import legalize_for, lower
from tests.target.llvm.programs import native

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.error import LoweringError
from tilewright.ir import Call, walk
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.insert_prefetches import insert_prefetches


def matrix_vector(rows, columns, dtype="float32"):
    A = te.placeholder((rows, columns), dtype, name="A")
    x = te.placeholder((columns,), dtype, name="x")
    k = te.reduce_axis((0, columns), "k")
    return te.create_prim_func(
        [A, x, te.compute((rows,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="y")]
    )


def prefetch_calls(func):
    return [
        node
        for node in walk(func.body)
        if isinstance(node, Call) and getattr(node.op, "name", "") == "tir.prefetch_address"
    ]


def prefetches(func):
    return [call.args[0].args[0] for call in prefetch_calls(func)]


def scheduled(distances, rows=4, columns=64, dtype="float32", loop=1, lanes=32):
    sch = tir.Schedule(matrix_vector(rows, columns, dtype))
    i, k = sch.get_loops("y")
    outer, inner = sch.split(k, [None, lanes])
    sch.reorder(outer, i, inner)
    sch.vectorize(inner)
    sch.annotate((outer, i)[loop], "software_prefetch", distances)
    return sch.mod["main"]


def test_each_line_is_asked_for_once():
    func = legalize_for(lower(scheduled({"A": 1})))
    loads = prefetches(func)
    assert [load.buffer.name for load in loads] == ["A", "A"]  # 32 elements of 4 bytes
    assert "(i + 1) * 64" in func.script()


def test_a_distance_along_an_outer_loop():
    func = legalize_for(lower(scheduled({"A": 3, "x": 1}, loop=0, columns=256)))
    assert {load.buffer.name for load in prefetches(func)} == {"A", "x"}
    assert "(k_0 + 3) * 32" in func.script()


def test_memory_goes_by_the_name_of_its_buffer():
    func = lower(scheduled({"A": 1}))
    load = next(
        n for n in walk(func.body) if isinstance(n, tir.BufferLoad) and n.buffer.name == "A"
    )
    other = load.buffer.replace(name="view")
    renamed = func.with_body(substitute(func.body, {}, {load.buffer: other}))
    assert len(prefetches(legalize_for(renamed))) == 2


def test_a_view_with_the_name_of_another_buffer_is_not_meant():
    """Intrinsics call their operands A and B, as programs do."""
    func = lower(scheduled({"A": 1}, loop=0, columns=256))
    load = next(
        n for n in walk(func.body) if isinstance(n, tir.BufferLoad) and n.buffer.name == "x"
    )
    view = load.buffer.replace(name="A")
    renamed = func.with_body(substitute(func.body, {}, {load.buffer: view}))
    assert {load.buffer.data.name for load in prefetches(legalize_for(renamed))} == {"A"}


@pytest.mark.parametrize(("dtype", "lines"), [("float64", 4), ("float32", 2), ("int8", 1)])
def test_lines_are_64_bytes(dtype, lines):
    func = legalize_for(lower(scheduled({"A": 1}, dtype=dtype)))
    assert len(prefetches(func)) == lines


def test_a_distance_of_0_asks_for_nothing():
    assert prefetches(legalize_for(lower(scheduled({"A": 0})))) == []
    found = prefetches(legalize_for(lower(scheduled({"A": 0, "x": 1}, loop=0, columns=256))))
    assert {load.buffer.name for load in found} == {"x"}


def test_the_result_is_the_same():
    rng = np.random.default_rng(0)
    a, x = rng.integers(-9, 9, (5, 96)).astype("float32"), np.arange(96, dtype="float32")
    y = np.zeros(5, "float32")
    func = scheduled({"A": 2, "x": 1000}, rows=5, columns=96, loop=0)
    native(legalize_for(lower(func)))(a, x, y)
    np.testing.assert_array_equal(y, a @ x)


def test_a_function_without_annotations_stays():
    func = lower(matrix_vector(4, 64))
    assert insert_prefetches(func) is func


def test_a_name_that_the_loop_does_not_read_is_refused():
    with pytest.raises(LoweringError, match="loop i reads no buffer 'B'"):
        legalize_for(lower(scheduled({"A": 1, "B": 1})))


def test_what_does_not_change_with_the_loop_is_refused():
    with pytest.raises(LoweringError, match="loop i reads no buffer 'x' at places that change"):
        legalize_for(lower(scheduled({"x": 1})))


@pytest.mark.parametrize("value", [3, "A", {"A": "far"}])
def test_an_annotation_of_another_form_is_refused(value):
    with pytest.raises(LoweringError, match="must map names of buffers to numbers"):
        legalize_for(lower(scheduled(value)))


def packed(columns=20, rows=24, panel=8):
    """B is copied panel by panel, and each panel is multiplied by A."""
    A, B = te.placeholder((6, rows), name="A"), te.placeholder((rows, columns), name="B")
    k = te.reduce_axis((0, rows), "k")
    C = te.compute((6, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    copy = sch.cache_read("C", 1, "global")
    i, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, panel])
    sch.reorder(j0, i, k, j1)
    sch.compute_at(copy, j0)
    sch.vectorize(j1)
    sch.annotate(j0, "software_prefetch", {"B": 1})
    return sch.mod["main"]


def test_what_the_next_copy_reads_is_asked_for_during_the_work():
    func = legalize_for(lower(packed(columns=16)))
    (load,) = prefetches(func)
    assert load.buffer.name == "B"
    text = func.script()
    assert text.index("B_global_1[") < text.index("prefetch_address")
    assert "if i * 24 + k < 24:" in text


@pytest.mark.parametrize("columns", [16, 20])
def test_the_result_of_packed_panels_is_the_same(columns):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, s).astype("float32") for s in ((6, 24), (24, columns)))
    c = np.zeros((6, columns), "float32")
    native(legalize_for(lower(packed(columns))))(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def tiles_of_results(columns):
    """What is written behind the work of a tile, whose loop asks for that of the next one."""
    A, B = te.placeholder((8, 24), name="A"), te.placeholder((24, columns), name="B")
    k = te.reduce_axis((0, 24), "k")
    P = te.compute((8, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="P")
    C = te.compute((8, columns), lambda i, j: P[i, j] * 2.0, name="C")
    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    i, j, k = sch.get_loops("P")
    j0, j1 = sch.split(j, [None, 16])
    sch.reorder(j0, k, i, j1)
    sch.unroll(i)
    sch.vectorize(j1)
    sch.reverse_compute_at("C", j0)
    column = sch.get_loops("C")[-1]
    sch.vectorize(sch.split(column, [None, 8])[1])
    sch.decompose_reduction("P", k)
    sch.annotate(j0, "software_prefetch", {"C": 1})
    return sch.mod["main"]


def test_where_results_go_is_asked_for_during_the_work():
    func = legalize_for(lower(tiles_of_results(64)))
    (call,) = prefetch_calls(func)  # of a line, which two vectors share
    place, for_writing, _ = call.args
    assert int(for_writing) == 1
    assert lines_asked_for(place.args[0], 64, {"j_0": 2, "k": 5}) == (5, 3)
    assert "if k < 8:" in func.script()


@pytest.mark.parametrize("columns", [64, 40])
def test_the_result_of_tiles_is_the_same(columns):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, s).astype("float32") for s in ((8, 24), (24, columns)))
    c = np.zeros((8, columns), "float32")
    native(legalize_for(lower(tiles_of_results(columns))))(a, b, c)
    np.testing.assert_array_equal(c, 2 * (a @ b))


def panels_and_tiles(columns, width, rows, depth=24):
    """A product whose loop over panels, which each two `rows` use, asks for the next panel."""
    A, B = te.placeholder((rows, depth), name="A"), te.placeholder((depth, columns), name="B")
    k = te.reduce_axis((0, depth), "k")
    C = te.compute((rows, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([A, B, C]))
    i, j, k = sch.get_loops("C")
    tile, row = sch.split(i, [None, 2])
    panel, vector, lane = sch.split(j, [None, width // 16, 16])
    sch.reorder(panel, tile, k, row, vector, lane)
    sch.unroll(row)
    sch.unroll(vector)
    sch.vectorize(lane)
    sch.annotate(panel, "software_prefetch", {"B": 1})
    return legalize_for(lower(sch.mod["main"]))


def lines_asked_for(load, columns, values):
    """The step and the line of its row that `load` asks for, given the values of loop variables."""
    names = {node.name: node for node in walk(load.indices[0]) if isinstance(node, tir.Var)}
    known = {names[n]: tvm.ir.const(v) for n, v in values.items() if n in names}
    index = tvm.arith.Analyzer().simplify(substitute(load.indices[0], known))
    step, column = divmod(int(index.value), columns)
    return step, column // 16


def test_an_unknown_number_of_tiles_asks_for_the_halves_of_the_lines_in_turn():
    func = panels_and_tiles(128, 64, rows=te.size_var("m"))
    whole, cut = prefetches(func)[:2], prefetches(func)[2:]
    for tile in range(4):
        asked = [lines_asked_for(load, 128, {"j_0": 0, "i_0": tile, "k": 7}) for load in whole]
        assert asked == [(7, 4 + tile % 2 * 2 + line) for line in range(2)]
    # The first row of a tile that is cut off asks for all of them, and the others need not.
    asked = [lines_asked_for(load, 128, {"j_0": 0, "k": 7}) for load in cut]
    assert asked == [(7, 4 + line) for line in range(4)]


def test_what_is_read_again_and_again_is_asked_for_in_parts():
    """Each of 3 tiles of rows asks for a third of the next panel."""
    (load,) = prefetches(panels_and_tiles(64, 16, rows=6))
    numbers = range(72)
    values = ({"j_0": 1, "i_0": n // 24, "k": n % 24} for n in numbers)
    asked = [lines_asked_for(load, 64, value) for value in values]
    assert asked == [(number // 3, 2) for number in numbers]


@pytest.mark.parametrize(("tiles", "each"), [(2, 2), (3, 2), (4, 1), (7, 1)])
@pytest.mark.parametrize(("columns", "left"), [(256, 0), (256, 1), (272, 0)])
def test_each_time_asks_for_some_of_the_lines_that_follow_each_other(columns, left, tiles, each):
    """Also where a panel is left over, or a row, whose loop over steps is longer than that over the
    whole tiles."""
    loads = prefetches(panels_and_tiles(columns, 64, 2 * tiles + left))[:each]
    for step in (0, 23):
        asked = [
            lines_asked_for(load, columns, {"j_0": 1, "i_0": tile, "k": step})
            for tile in range(tiles)
            for load in loads
        ]
        assert sorted(set(asked)) == [(step, line) for line in range(8, 12)]
        assert len(asked) == tiles * each


def copied_panels(panels, width, length):
    """Panels of the rows of a matrix are copied and used, one block of rows after the other."""
    size = panels * width

    @T.prim_func
    def func(
        X: T.Buffer((4 * length, size)), P: T.Buffer((panels, length, width)), C: T.Buffer((8,))
    ):
        T.func_attr({"tir.noalias": True})
        for block in T.serial(4, annotations={"software_prefetch": {"X": 1}}):
            for p in range(panels):
                for k in range(length):
                    for v in range(width // 8):
                        for lane in T.vectorized(8):
                            P[p, k, v * 8 + lane] = X[block * length + k, p * width + v * 8 + lane]
            for i in range(4):
                for p in range(panels):
                    for k in range(length):
                        C[i] = C[i] + P[p, k, i]

    return func


def test_the_lines_of_a_nest_of_copies_are_asked_for_one_by_one():
    func = legalize_for(lower(copied_panels(panels=3, width=16, length=10)))
    (load,) = prefetches(func)
    (index,) = load.indices
    (guard,) = (n for n in walk(func.body) if isinstance(n, tir.IfThenElse))
    assert not any(isinstance(node, tir.For) for node in walk(guard))
    variables = {node for node in walk(index) if isinstance(node, tir.Var)}
    loops = {
        node.loop_var: int(node.extent) for node in walk(func.body) if isinstance(node, tir.For)
    }
    fetched = set()
    for place in itertools.product(*(range(loops[var]) for var in variables)):
        values = {v: tir.const(n, v.dtype) for v, n in zip(variables, place, strict=True)}
        if bool(int(tvm.arith.Analyzer().simplify(substitute(guard.condition, values)))):
            fetched.add(int(tvm.arith.Analyzer().simplify(substitute(index, values))))
    lines = {
        (block * 10 + k) * 48 + p * 16 for block in range(1, 5) for k in range(10) for p in range(3)
    }
    assert fetched == lines


@pytest.mark.parametrize("width", [16, 24])
def test_the_result_of_a_nest_of_copies_is_the_same(width):
    func = copied_panels(panels=2, width=width, length=6)
    rng = np.random.default_rng(0)
    shapes = [(24, 2 * width), (2, 6, width), (8,)]
    arrays = [rng.integers(-9, 9, shape).astype("float32") for shape in shapes]
    expected, compiled = ([array.copy() for array in arrays] for _ in range(2))
    interpret(func, *expected)
    tvm.build(func, target="llvm")(*compiled)
    np.testing.assert_array_equal(compiled[2], expected[2])


def test_a_copy_under_a_condition_is_fetched_where_it_is_made():
    @T.prim_func
    def func(X: T.Buffer((256,)), P: T.Buffer((64,)), C: T.Buffer((8,)), n: T.int32):
        T.func_attr({"tir.noalias": True})
        for p in T.serial(4, annotations={"software_prefetch": {"X": 1}}):
            for k in range(8):
                if k < n:
                    for row in range(3):
                        P[k * 8 + row] = X[p * 64 + k * 8 + row * 2]
            for i in range(8):
                for k in range(5):
                    C[i] = C[i] + P[k * 8 + i]

    arrays = [np.arange(size).astype("float32") for size in (256, 64, 8)]
    expected, compiled = ([array.copy() for array in arrays] for _ in range(2))
    interpret(func, *expected, 5)
    tvm.build(func, target="llvm")(*compiled, 5)
    np.testing.assert_array_equal(compiled[2], expected[2])


def rows_of_softmax(columns):
    X = te.placeholder((6, columns), name="X")
    sch = tir.Schedule(te.create_prim_func([X, topi.nn.softmax(X)]))
    *producers, last = sch.get_child_blocks(sch.get_block("root"))
    row = sch.get_loops(last)[0]
    for block in reversed(producers):
        sch.compute_at(block, row)
    for block in (*producers, last):
        for column in sch.get_loops(block)[1:]:
            _, inner = sch.split(column, [None, 32])
            sch.vectorize(inner)
    sch.annotate(row, "software_prefetch", {"X": 1, "T_softmax_norm": 1})
    return sch.mod["main"]


def test_the_longest_loop_over_a_row_asks_for_the_next_row():
    func = legalize_for(lower(rows_of_softmax(64)))
    names = [load.buffer.name for load in prefetches(func)]
    assert sorted(names) == ["T_softmax_norm"] * 2 + ["X"] * 2
    text = func.script()
    before, after = text.split("prefetch_address", 1)
    assert "max" in before
    assert "fma" not in before
    assert "fma" in after.split("for ")[0]


@pytest.mark.parametrize("columns", [64, 50])
def test_the_result_of_rows_is_the_same(columns):
    x = np.random.default_rng(0).standard_normal((6, columns), "float32")
    y = np.zeros_like(x)
    native(legalize_for(lower(rows_of_softmax(columns))))(x, y)
    np.testing.assert_allclose(y, topi.testing.softmax_python(x), rtol=1e-6)


def test_a_store_asks_for_what_it_will_write():
    @T.prim_func
    def func(X: T.Buffer((256,)), Y: T.Buffer((256,))):
        for i in T.serial(16, annotations={"software_prefetch": {"Y": 2}}):
            for j in T.vectorized(16):
                Y[i * 16 + j] = X[j]

    (place,) = prefetches(legalize_for(lower(func)))
    assert place.buffer.name == "Y"
    assert "(i + 2) * 16" in legalize_for(lower(func)).script()


def test_what_is_read_outside_of_the_innermost_loop_is_asked_for_there():
    @T.prim_func
    def func(X: T.Buffer((6, 12)), Z: T.Buffer((28,)), Y: T.Buffer((6, 12))):
        T.func_attr({"tir.noalias": True})
        for i in T.serial(6, annotations={"software_prefetch": {"X": 1}}):
            for j in range(12):
                Y[i, j] = X[i, j]
                for k in range(28):
                    Y[i, j] = T.max(Y[i, j] * Z[k], Z[27 - k])

    rng = np.random.default_rng(0)
    x, z = rng.random((6, 12), "float32"), rng.random(28, "float32")
    expected, found = np.empty_like(x), np.empty_like(x)
    interpret(func, x, z, expected)
    native(legalize_for(lower(func)))(x, z, found)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_elements_some_way_apart_are_asked_for_by_lines():
    @T.prim_func
    def func(X: T.Buffer((256,)), Y: T.Buffer((128,))):
        for i in T.serial(8, annotations={"software_prefetch": {"X": 2}}):
            for j in T.vectorized(16):
                Y[i * 16 + j] = X[(i * 16 + j) * 2]

    legal = legalize_for(lower(func))
    assert [load.buffer.name for load in prefetches(legal)] == ["X", "X"]  # 31 elements of 4 bytes
    x, y = np.arange(256, dtype="float32"), np.zeros(128, "float32")
    native(legal)(x, y)
    np.testing.assert_array_equal(y, x[::2])
