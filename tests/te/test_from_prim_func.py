"""Reading tensors back from a program: `te.tensors_of` is the inverse of `te.create_prim_func`."""

import contextlib

import pytest
from hypothesis import given
from tests.te.programs import chains

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.ir.structural import assert_structural_equal
from tilewright.script import tir as T
from tilewright.te.operation import topological_order
from tilewright.tir.schedule.state import prepare


def ways(func):
    """A program as it comes out of a script, of JSON, and of a schedule."""
    yield func
    yield tvm.script.from_source(func.script())
    yield tvm.ir.load_json(tvm.ir.save_json(func))
    yield prepare("main", func)


def check(args, **options):
    func = te.create_prim_func(list(args), **options)
    for same in ways(func):
        assert_structural_equal(te.create_prim_func(te.tensors_of(same)), func)
    return te.tensors_of(func)


def names(args):
    return [arg.name for arg in args]


# --- expressions --------------------------------------------------------------------------------


def test_arguments_are_in_the_order_of_the_parameters():
    n, scale = te.size_var("n"), te.var("scale", "float32")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n, 4), name="B")
    inner = te.compute((n,), lambda i: a[i] * scale, name="inner")
    c = te.compute((n, 4), lambda i, j: inner[i] + b[i, j], name="C")
    found = check([c, scale, b, a])
    assert names(found) == ["C", "scale", "B", "A"]
    computed, scalar, *inputs = found
    assert isinstance(scalar, tir.Var)
    assert [type(tensor.op) for tensor in inputs] == [te.PlaceholderOp, te.PlaceholderOp]
    assert [axis.name for axis in computed.op.axis] == ["i", "j"]
    assert names(computed.op.input_tensors) == ["inner", "B"]


def test_tensors_are_the_same_for_the_same_function():
    a = te.placeholder((4,), name="A")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="B")])
    assert [x is y for x, y in zip(te.tensors_of(func), te.tensors_of(func), strict=True)] == [
        True,
        True,
    ]


def test_results_without_dimensions():
    x, s = te.placeholder((), name="X"), te.var("s", "float32")
    check([x, s, te.compute((), lambda: x() * s, name="Y")])
    wide = te.placeholder((4,), name="W")
    k = te.reduce_axis((0, 4), "k")
    check([wide, te.compute((), lambda: te.sum(wide[k], axis=k), name="Y")])
    wider = te.create_prim_func([x, te.compute((), lambda: x() + 1.0, name="Y")], "int64")
    assert names(te.tensors_of(wider)) == ["X", "Y"]


def test_several_outputs_at_the_same_indices():
    a = te.placeholder((4, 6), name="A")
    u, v = te.compute((4, 6), lambda i, j: (a[i, j] + 1.0, a[j % 4, i] > 0.0), name="U")
    found = check([a, v, u])
    assert names(found) == ["A", "U_v1", "U_v0"]
    assert found[1].op is found[2].op


def test_tensors_of_one_name_keep_it():
    a = te.placeholder((4,), name="A")
    one = te.compute((4,), lambda i: a[i] + 1.0, name="T")
    two = te.compute((4,), lambda i: one[i] * 2.0, name="T")
    found = check([a, two])
    assert names(found) == ["A", "T"]
    assert names(found[1].op.input_tensors) == ["T"]


def test_operations_are_called_after_blocks_where_buffers_are_called_otherwise():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), lv1: T.Buffer((4,), "float32")):
        lv = T.alloc_buffer((4,))
        for i in range(4):
            with T.block("T_add"):
                v = T.axis.spatial(4, i)
                lv[v] = A[v] + T.float32(1)
        for i in range(4):
            with T.block("T_relu"):
                v = T.axis.spatial(4, i)
                lv1[v] = T.max(lv[v], T.float32(0))

    found = te.tensors_of(func)
    assert names(found) == ["A", "T_relu"]
    assert names(found[1].op.input_tensors) == ["T_add"]
    # So a trace that names blocks applies to the program of the tensors, too.
    sch = tir.Schedule(te.create_prim_func(found))
    assert sch.get_block("T_add")


def test_conditions_that_depend_on_indices():
    n = te.size_var("n")
    a = te.placeholder((n, 6), name="A")
    check(
        [
            a,
            te.compute(
                (n + 2, 8),
                lambda i, j: te.if_then_else(
                    te.all(i >= 1, i < n + 1, j < 6), a[i - 1, te.min(j, 5)], te.const(0.5)
                ),
                name="pad",
            ),
        ]
    )


# --- reductions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reducer", [te.sum, te.prod, te.max, te.min])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_reducers(reducer, dtype):
    a = te.placeholder((4, 6), dtype, name="A")
    k = te.reduce_axis((1, 6), "k")
    plain = te.compute((4,), lambda i: reducer(a[i, k], axis=k), name="B")
    (_, found) = check([a, plain])
    assert found.op.reduction.init == ()
    k = te.reduce_axis((1, 6), "k")
    where = k.var % 2 > 0
    other = te.compute((4,), lambda i: reducer(a[i, k], axis=k, where=where, init=a[i, 0]))
    (_, found) = check([a, other])
    assert len(found.op.reduction.init) == 1


def test_logical_reducers():
    a = te.placeholder((4, 6), "bool", name="A")
    for reducer in (te.all, te.any):
        k = te.reduce_axis((0, 6), "k")
        check([a, te.compute((4,), lambda i, f=reducer, k=k: f(a[i, k], axis=k), name="B")])


def test_what_a_sum_starts_from_is_not_taken_for_its_neutral_element():
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), "k")
    (_, found) = check([a, te.compute((4,), lambda i: te.sum(a[i, k], axis=k, init=5.0), name="B")])
    reduction = found.op.reduction
    assert reduction.combiner.identity_element[0].value == 0.0
    assert reduction.init[0].value == 5.0


def argmax(keeps_first):
    better = (
        (lambda a, b: a[1] >= b[1])
        if keeps_first
        else (lambda a, b: te.any(a[1] > b[1], te.all(a[1] == b[1], a[0] < b[0])))
    )
    return te.comm_reducer(
        lambda a, b: (te.select(better(a, b), a[0], b[0]), te.max(a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
        name="argmax",
    )


@pytest.mark.parametrize("keeps_first", [True, False])
def test_arguments_of_maxima(keeps_first):
    a = te.placeholder((4, 6), name="A")
    k = te.reduce_axis((0, 6), "k")
    outputs = te.compute((4,), lambda i: argmax(keeps_first)((k.var, a[i, k]), axis=k), name="M")
    found = check([a, *outputs])
    s = te.create_schedule(found[1].op)
    s[found[1]].split(found[1].op.reduce_axis[0], 2)
    tvm.lower(s, found)


def test_reducers_of_users():
    a = te.placeholder((4, 6), name="A")
    with_product = te.comm_reducer(lambda x, y: x * y + x + y, lambda d: te.const(0, d))
    complex_product = te.comm_reducer(
        lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
        lambda d, e: (te.const(1, d), te.const(0, e)),
    )
    k = te.reduce_axis((0, 6), "k")
    check([a, te.compute((4,), lambda i: with_product(a[i, k] * 2.0, axis=k), name="B")])
    k = te.reduce_axis((0, 6), "k")
    check([a, *te.compute((4,), lambda i: complex_product((a[i, k], a[i, 5 - k]), axis=k))])


def test_reducers_of_programs_are_declared_by_nobody():
    """Another order of what is combined is proved, or refused."""
    a = te.placeholder((4, 6), name="A")
    with_product = te.comm_reducer(lambda x, y: x * y + x + y, lambda d: te.const(0, d))
    for reducer, is_proved in ((te.sum, True), (te.max, True), (with_product, False)):
        k = te.reduce_axis((0, 6), "k")
        b = te.compute((4,), lambda i, f=reducer, k=k: f(a[i, k], axis=k), name="B")
        args = te.tensors_of(te.create_prim_func([a, b]))
        for tensor, is_declared in ((b, True), (args[1], False)):
            s = te.create_schedule(tensor.op)
            (k,) = tensor.op.reduce_axis
            ko, ki = s[tensor].split(k, 2)
            tvm.lower(s, [tensor.op.input_tensors[0], tensor])
            s[tensor].reorder(ki, ko)
            refused = pytest.raises(TEScheduleError, match="it is not known whether that gives")
            with contextlib.nullcontext() if is_proved or is_declared else refused:
                tvm.lower(s, [tensor.op.input_tensors[0], tensor])
            with contextlib.nullcontext() if is_proved or is_declared else refused:
                s.rfactor(tensor, ko)


def test_a_start_that_is_not_neutral_is_refused_where_no_neutral_element_is_known():
    a = te.placeholder((4, 6), name="A")
    with_product = te.comm_reducer(lambda x, y: x * y + x + y, lambda d: te.const(0, d))
    k = te.reduce_axis((0, 6), "k")
    func = te.create_prim_func(
        [a, te.compute((4,), lambda i: with_product(a[i, k], axis=k, init=3.0), name="B")]
    )
    with pytest.raises(TEScheduleError, match="block B: it is not known which element"):
        te.tensors_of(func)


# --- many programs ------------------------------------------------------------------------------


X = te.placeholder((2, 8, 6, 6), name="X")
ROWS = te.placeholder((4, 12), name="rows")
WEIGHT = te.placeholder((12, 12), name="weight")
POSITIONS = te.placeholder((5,), "int32", name="positions")
KERNEL = te.placeholder((4, 8, 3, 3), name="kernel")
CHANNELS = [te.placeholder((8,), name=name) for name in ("gamma", "beta")]

OPERATORS = {
    "adaptive_pool": lambda: [topi.nn.adaptive_pool(X, (2, 3), "avg")],
    "argsort": lambda: [topi.argsort(ROWS)],
    "batch_norm": lambda: [topi.nn.instance_norm(X, *CHANNELS, 1, [2, 3])],
    "concatenate": lambda: [topi.concatenate([ROWS, WEIGHT], 0)],
    "conv2d": lambda: [topi.nn.conv2d_nchw(X, KERNEL, 1, 1, 1)],
    "cumsum": lambda: [topi.cumsum(ROWS, 1)],
    "dense": lambda: [topi.nn.relu(topi.nn.dense(ROWS, WEIGHT))],
    "layer_norm": lambda: [topi.nn.log_softmax(topi.transpose(ROWS))],
    "pool": lambda: [
        topi.nn.pool2d(X, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max", layout="NCHW"),
    ],
    "softmax": lambda: [topi.nn.softmax(ROWS)],
    "split": lambda: [*topi.split(ROWS, 3, 1)],
    "take": lambda: [topi.take(ROWS, POSITIONS, 1)],
    "trilu": lambda: [topi.trilu(WEIGHT, 0, True)],
    "variance": lambda: [topi.sum(topi.square(ROWS - topi.sum(ROWS, 1, True)), 1)],
}


def with_inputs(tensors):
    """Tensors after the inputs that they are computed from."""
    inputs = [op.output(0) for op in topological_order(tensors) if isinstance(op, te.PlaceholderOp)]
    return [*inputs, *tensors]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    check(with_inputs(OPERATORS[name]()))
    check(with_inputs(OPERATORS[name]()), index_dtype_override="int64")


@given(chains())
def test_random_programs(program):
    func = te.create_prim_func(program.args)
    assert_structural_equal(te.create_prim_func(te.tensors_of(func)), func)


# --- extern operations --------------------------------------------------------------------------


def test_statements_over_whole_buffers():
    a = te.placeholder((4, 6), name="A")

    def two(ins, outs):
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, name="i") as i:
            target[i, 0] = source[i, 1]
        return ib.get()

    b = te.extern((4, 6), [a], two, name="B")
    found = check([a, te.compute((4, 6), lambda i, j: b[i, j] + 1.0, name="C")])
    (op,) = [tensor.op for tensor in found[1].op.input_tensors]
    assert isinstance(op, te.ExternOp)
    assert names(op.inputs) == ["A"]


# --- what is refused ----------------------------------------------------------------------------


@T.prim_func
def twice_written(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("one"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]
    for i in range(4):
        with T.block("two"):
            v = T.axis.spatial(4, i)
            B[v] = B[v] + A[v]


@T.prim_func
def mirrored(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[3 - v] = A[v]


@T.prim_func
def partial(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]


@T.prim_func
def in_place(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] + T.float32(1)


@T.prim_func
def without_init(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            B[v] = B[v] + A[v, vk]


@T.prim_func
def parallel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.parallel(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]


@T.prim_func
def guarded(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            T.where(i < 3)
            v = T.axis.spatial(4, i)
            B[v] = A[v]


@T.prim_func
def annotated(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            T.block_attr({"tile": 4})
            v = T.axis.spatial(4, i)
            B[v] = A[v]


def tiled():
    a = te.placeholder((4, 4), name="A")
    b = te.compute((4, 4), lambda i, j: a[j, i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    sch.split(sch.get_loops("B")[0], [2, 2])
    return sch.mod["main"]


def scanned():
    state = te.placeholder((4, 2), name="state")
    first = te.compute((1, 2), lambda t, i: 1.0, name="first")
    update = te.compute((4, 2), lambda t, i: state[t - 1, i] * 2.0, name="update")
    return te.create_prim_func([te.scan(first, update, state, name="S")])


@pytest.mark.parametrize(
    ("func", "reason"),
    [
        (twice_written, "block two: it writes B, as another block does"),
        (mirrored, "block B: the indices of B are not its iterators"),
        (partial, "block B: it computes a part of B, and not all of it"),
        (in_place, "block A: it reads A, which no block before it computes"),
        (without_init, "block B: the indices of B|block B: it reads B"),
        (parallel, "loop i has been scheduled"),
        (guarded, "block B does something else"),
        (annotated, "block B does something else"),
        (tiled, "block B: its iterators are not the loops in their order"),
        (scanned, r"block update is a step of a te\.scan"),
    ],
)
def test_other_programs_are_refused(func, reason):
    func = func if isinstance(func, tir.PrimFunc) else func()
    with pytest.raises(TEScheduleError, match=reason) as error:
        te.tensors_of(func)
    assert "is not as te.create_prim_func makes it" in str(error.value)


def test_lowered_programs_and_other_things_are_refused():
    a = te.placeholder((4,), name="A")
    lowered = tvm.lower(te.create_prim_func([a, te.compute((4,), lambda i: a[i], name="B")]))
    with pytest.raises(TEScheduleError, match="it has been lowered"):
        te.tensors_of(lowered["main"])
    with pytest.raises(ArgumentError, match="expected a PrimFunc, got 3"):
        te.tensors_of(3)
