"""Tensors of torch as arguments: lazy negation and conjugation, and writes that autograd sees."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, te
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.relax import op

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def double():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] * 2, name="B")
    return tvm.build(te.create_prim_func([a, b]), target="llvm")


def negated():
    """The imaginary part of a conjugate: the memory holds the numbers with the other sign."""
    numbers = torch.arange(4.0) * (1 + 1j)
    result = numbers.conj().imag
    assert result.is_neg()
    return result


def test_negated_tensors_are_refused_by_compiled_functions(double):
    with pytest.raises(
        ArgumentValueError, match=r"argument 1 \(A\): the negative bit.*resolve_neg"
    ):
        double(negated(), torch.zeros(4))
    with pytest.raises(ArgumentValueError, match=r"argument 2 \(B\): the negative bit"):
        double(torch.zeros(4), negated())
    result = torch.zeros(4)
    double(negated().resolve_neg().contiguous(), result)
    np.testing.assert_array_equal(result.numpy(), [0, -2, -4, -6])


@pytest.mark.parametrize("make", [tvm.nd.from_dlpack, tvm.nd.array, relax.const])
def test_arrays_are_not_made_of_negated_tensors(make):
    with pytest.raises((ArgumentError, ArgumentValueError)):
        make(negated())


def test_nor_are_arrays_filled_with_them():
    with pytest.raises(ArgumentError, match="negative bit"):
        tvm.nd.empty((4,)).copyfrom(negated())


def test_conjugates_are_refused():
    with pytest.raises(ArgumentValueError, match=r"conjugate bit.*resolve_conj"):
        tvm.nd.from_dlpack((torch.arange(4.0) * 1j).conj())


def machine(*infos):
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{n}", info) for n, info in enumerate(infos)]
    with builder.function("main", params):
        first = params[0]
        if isinstance(first.struct_info, relax.TupleStructInfo):
            first = relax.TupleGetItem(first, 0)
        builder.emit_func_output(builder.emit(op.add(first, first)))
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())


def test_functions_of_virtual_machines_refuse_negated_tensors():
    info = relax.TensorStructInfo((4,), "float32")
    vm = machine(info)
    for call in (
        lambda: vm["main"](negated()),
        lambda: (vm.set_input("main", negated()), vm.invoke_stateful("main")),
        lambda: vm.time_evaluator("main", tvm.cpu())(negated()),
        lambda: machine(relax.TupleStructInfo([info]))["main"]((negated(),)),
    ):
        with pytest.raises(ArgumentValueError, match="negative bit"):
            call()


def test_registered_functions_refuse_negated_tensors_in_tuples_too():
    function = tvm.runtime.convert(lambda *values: None)
    for argument in (negated(), (negated(),), [torch.zeros(1), (negated(),)]):
        with pytest.raises(ArgumentValueError, match="negative bit"):
            function(argument)


def test_the_importer_resolves_parameters():
    from tilewright.relax.frontend.torch import from_exported_program

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("offset", negated())

        def forward(self, x):
            return x + self.offset

    program = torch.export.export(Model(), (torch.zeros(4),))
    vm = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"), tvm.cpu())
    result = vm["main"](np.zeros(4, "float32"))
    result = result[0] if isinstance(result, tuple) else result
    np.testing.assert_array_equal(result.numpy(), [0, -1, -2, -3])


def test_autograd_notices_that_a_saved_tensor_was_written(double):
    weight, saved = torch.ones(4, requires_grad=True), torch.ones(4)
    loss = (weight * saved).sum()
    double(torch.arange(4.0), saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_reading_a_saved_tensor_leaves_it_as_it_is(double):
    weight, saved = torch.ones(4, requires_grad=True), torch.ones(4)
    loss = (weight * saved).sum()
    double(saved, torch.zeros(4))
    double(weight, torch.zeros(4))
    loss.backward()
    np.testing.assert_array_equal(weight.grad.numpy(), 1)


def test_tensors_that_require_gradients_are_not_written(double):
    result = torch.zeros(4, requires_grad=True)
    with pytest.raises(ArgumentValueError, match=r"argument 2 \(B\).*requires gradients.*detach"):
        double(torch.arange(4.0), result)
    with torch.no_grad():
        double(torch.arange(4.0), result)
    double(torch.arange(4.0), result.detach())
    assert result._version == 2
    np.testing.assert_array_equal(result.detach().numpy(), [0, 2, 4, 6])


def test_tensors_without_a_version_are_written(double):
    with torch.inference_mode():
        result = torch.zeros(4)
        double(torch.arange(4.0), result)
    np.testing.assert_array_equal(result.numpy(), [0, 2, 4, 6])


def test_too_few_tensors_are_refused_as_other_arguments_are(double):
    with pytest.raises(ArgumentError):
        double(torch.zeros(4))


def test_a_call_that_is_refused_writes_nothing_as_autograd_sees_it():
    a, n = te.placeholder((4,), name="A"), te.placeholder((4,), name="N")
    first = te.compute((4,), lambda i: a[i] + n[i], name="B")
    second = te.compute((4,), lambda i: a[i] - n[i], name="C")
    both = tvm.build(te.create_prim_func([a, n, first, second]), target="llvm")
    result, refused = torch.zeros(4), torch.zeros(4, requires_grad=True)
    with pytest.raises(ArgumentValueError, match=r"argument 4 \(C\).*requires gradients"):
        both(torch.ones(4), torch.ones(4), result, refused)
    assert result._version == 0
    both(torch.ones(4), torch.ones(4), result, refused.detach())
    assert (result._version, refused._version) == (1, 1)
