"""Tasks: templates with arguments, and schedules for configs."""

import pickle

import numpy as np
import pytest
from tests.autotvm.templates import matmul, scale  # noqa: F401, registers them

import tilewright as tvm
from tilewright import autotvm, te
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    InstantiationError,
    TargetError,
    UnknownNameError,
)


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], "llvm")


def test_what_a_task_knows(task):
    assert task.name == "tests/matmul"
    assert task.args == (8, 12, 4)
    assert task.workload == ("tests/matmul", 8, 12, 4)
    assert task.target == tvm.target.Target("llvm")
    assert task.flop == 2 * 8 * 12 * 4
    assert len(task.config_space) == 4 * 6 * 2
    assert str(task) == (
        "Task(func_name=tests/matmul, args=(8, 12, 4), kwargs={}, "
        "workload=('tests/matmul', 8, 12, 4))"
    )
    func = task.mod["main"]
    assert [buffer.name for buffer in func.buffer_map.values()] == ["A", "B", "C"]


def test_schedules_compute_the_same(task):
    a, b = (np.random.rand(*shape).astype("float32") for shape in ((8, 4), (4, 12)))
    for index in (0, 9, 30, len(task.config_space) - 1):
        config = task.config_space.get(index)
        s, args = task.instantiate(config)
        tiles = {
            loop.var.name: int(loop.dom.extent) for loop in s[args[2]].all_iter_vars if loop.dom
        }
        assert tiles["i"] == 8
        arrays = [tvm.nd.array(x) for x in (a, b, np.zeros((8, 12), "float32"))]
        tvm.build(s, args, "llvm")(*arrays)
        np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)


def test_a_task_survives_pickling(task):
    again = pickle.loads(pickle.dumps(task))
    assert (again.workload, again.target) == (task.workload, task.target)
    assert again.config_space.fingerprint == task.config_space.fingerprint


def test_operations_may_be_given():
    @autotvm.template("tests/flop")
    def flop(n, said):
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: te.exp(A[i]), name="B")
        if said:
            autotvm.get_config().add_flop(said)
        return te.create_schedule(B.op), [A, B]

    assert autotvm.task.create("tests/flop", [8, 0], "llvm").flop == 0  # `exp` is not counted
    task = autotvm.task.create("tests/flop", [8, 80], "llvm")
    assert task.flop == 80
    task.instantiate(task.config_space.get(0))
    assert task.flop == 80


def test_bad_configs_say_why():
    task = autotvm.task.create("tests/scale", [4], "llvm")
    kinds = [entity.val for entity in task.config_space.space_map["kind"].entities]

    def config(kind):
        return task.config_space.at([0, kinds.index(kind)])

    task.instantiate(config("good"))
    with pytest.raises(InstantiationError, match=r"refuses the config .*raise_error.*the kind is"):
        task.instantiate(config("raise_error"))
    with pytest.raises(InstantiationError, match="ZeroDivisionError: division of one") as caught:
        task.instantiate(config("raise"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(InstantiationError, match="TEScheduleError: compute_inline on stage D"):
        task.instantiate(config("refused"))
    refused = config("raise_error")
    for _ in range(2):
        with pytest.raises(InstantiationError):
            task.instantiate(refused)
        assert refused.errors == ["the kind is bad"]
        assert not refused.valid()


def test_a_knob_that_is_not_always_defined():
    @autotvm.template("tests/sometimes")
    def sometimes(n):
        cfg = autotvm.get_config()
        cfg.define_knob("more", [False, True])
        if cfg["more"].val:
            cfg.define_knob("other", [1, 2])
        return scale(n, ["no knobs"])

    task = autotvm.task.create("tests/sometimes", [4], "llvm")
    task.instantiate(task.config_space.get(0))
    with pytest.raises(InstantiationError, match=r"no knob 'other': .* some values of other knobs"):
        task.instantiate(task.config_space.get(1))


def test_a_template_that_raises():
    with pytest.raises(InstantiationError, match="while its knobs are collected: ZeroDivision"):
        autotvm.task.create("tests/scale", [4, ["raise"]], "llvm")


def test_a_template_with_a_knob_that_has_no_values():
    @autotvm.template("tests/empty")
    def empty(n):
        autotvm.get_config().define_split("tile", n, num_outputs=2, filter=lambda entity: False)

    with pytest.raises(InstantiationError, match="the knob 'tile' has no values to choose from"):
        autotvm.task.create("tests/empty", [4], "llvm")


@pytest.mark.parametrize("returned", [None, 3, (1, 2), [], "s"])
def test_a_template_that_returns_something_else(returned):
    @autotvm.template("tests/returns")
    def returns():
        return returned

    with pytest.raises(ArgumentError, match="returns a te schedule and the list of its parameters"):
        autotvm.task.create("tests/returns", [], "llvm")


def test_a_template_for_a_gpu_knows_its_target():
    seen = []

    @autotvm.template("tests/target")
    def target(n):
        seen.append(tvm.target.Target.current())
        return scale(n, ["no knobs"])

    task = autotvm.task.create("tests/target", [4], "cuda")
    assert [target.kind.name for target in seen] == ["cuda"]
    task.instantiate(task.config_space.get(0))
    assert [target.kind.name for target in seen] == ["cuda", "cuda"]


def test_wrong_arguments_of_create():
    A = te.placeholder((4, 4), name="A")
    C = te.compute((4, 4), lambda i, j: A[i, j], name="C")
    s = te.create_schedule(C.op)
    with pytest.raises(ArgumentError, match=r"takes no schedule.*@autotvm\.template\('tests/mat"):
        autotvm.task.create("tests/matmul", s, [A, C])
    with pytest.raises(UnknownNameError, match=r"no template 'tests/matmull' .*did you mean"):
        autotvm.task.create("tests/matmull", [8, 8, 8], "llvm")
    with pytest.raises(TargetError, match="`target` is a target such as 'llvm'"):
        autotvm.task.create("tests/matmul", [8, 8, 8], None)
    with pytest.raises(TargetError):
        autotvm.task.create("tests/matmul", [8, 8, 8], "lvm")
    with pytest.raises(InstantiationError, match="missing 1 required positional argument: 'k'"):
        autotvm.task.create("tests/matmul", [8, 8], "llvm")


def test_names_of_templates():
    @autotvm.template("tests/twice")
    def first():
        return scale(4, ["no knobs"])

    def second():
        return None

    with pytest.raises(ArgumentValueError, match=r"'tests/twice' is registered already, .*first"):
        autotvm.template("tests/twice", second)
    with pytest.raises(ArgumentError, match="the name is a string"):
        autotvm.template(second)
    again = autotvm.template("tests/twice")(first.__wrapped__)  # as when a cell runs again
    assert again() is not None
