"""Arguments of candidates, and the modules of tasks."""

import pytest
from tests.tune.database.programs import matmul, relu

from tilewright import te
from tilewright.error import ArgumentError, ArgumentValueError, RecordError
from tilewright.ir import IRModule, structural_equal
from tilewright.tune.candidate import ArgInfo, TensorInfo, entry_function
from tilewright.tune.database.record import this_machine
from tilewright.tune.workload import Workload, normalized


def test_arguments_by_shape_and_dtype():
    infos = ArgInfo.from_prim_func(matmul(8))
    assert infos == [TensorInfo("float32", [8, 8])] * 3
    assert [ArgInfo.from_json(info.as_json()) for info in infos] == infos
    assert infos[0] != TensorInfo("float16", [8, 8])
    assert len({*infos}) == 1


@pytest.mark.parametrize(
    "form",
    [
        None,
        5,
        [],
        ["SCALAR", "int32"],
        ["TENSOR", "float32"],
        ["TENSOR", "float31", [1]],
        ["TENSOR", "float32", ["1"]],
        ["TENSOR", "float32", 4],
    ],
)
def test_malformed_arguments(form):
    with pytest.raises(RecordError):
        ArgInfo.from_json(form)


def test_symbolic_shapes_cannot_be_measured():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    func = te.create_prim_func([A, te.compute((n, 4), lambda i, j: A[i, j], name="B")])
    with pytest.raises(ArgumentValueError, match="the shape of A is not constant"):
        ArgInfo.from_prim_func(func)


def test_the_function_of_a_task():
    assert entry_function(normalized(matmul())) is not None
    mod = IRModule({"a": matmul(), "b": relu()})
    with pytest.raises(ArgumentValueError, match="expected a module with one function"):
        entry_function(mod)
    mod["main"] = relu(8)
    assert structural_equal(entry_function(mod), relu(8))


def test_a_single_function_is_called_main():
    func = matmul().with_attr("global_symbol", "dense")
    assert structural_equal(normalized(IRModule({"dense": func})), normalized(matmul()))
    several = IRModule({"a": matmul(), "b": relu()})
    assert normalized(several) is several
    with pytest.raises(ArgumentError, match="expected an IRModule"):
        normalized("matmul")


def test_a_workload_has_the_same_hash_after_a_way_through_json():
    workload = Workload(matmul())
    again = Workload.from_json(workload.as_json())
    assert (again.shash, Workload(again.mod).shash) == (workload.shash, workload.shash)
    assert Workload(relu()).key != workload.key
    for form in (None, [], {}, {"hash": "xyz", "module": []}, {"hash": "1", "module": [1]}):
        with pytest.raises(RecordError):
            Workload.from_json(form)


def test_this_machine():
    machine = this_machine()
    assert machine["cores"] >= 1
    assert all(machine[name] for name in ("cpu", "llvm_cpu", "triple"))
