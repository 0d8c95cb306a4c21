"""Rewrites of matrix products: their order, sums, shared operands and transposed operands."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

from tilewright import topi
from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, const_int_value
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.structural import structural_equal
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis import computable_at_compile_time
from tilewright.relax.expr import (
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.op.nn.attention import attend
from tilewright.relax.sizes import assume_sizes, symbolic_vars_of
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import (
    CountingMutator,
    ModuleMutator,
    constant_of,
    is_call_of,
)
from tilewright.te import Tensor
from tilewright.tir.substitute import substitute
from tilewright.topi.operands import accumulator

FEW_COLUMNS: Final = 32
"""Maximum number of columns for which a transposed left operand is read as it is: products of 1000
by 1000 are 1.4 to 5 times as fast."""

FEW_ELEMENTS: Final = 1 << 16
"""Maximum number of elements of a matrix that is read as it is for any number of columns."""


class AdjustMatmulOrder(ModulePass):
    """Multiply three matrices in the order that takes fewer multiplications.

    Products of constants cost nothing, because `FoldConstant` computes them::

        before:  lv = R.matmul(x, a)            after:  lv = R.matmul(a, b)
                 lv1 = R.matmul(lv, b)                  lv1 = R.matmul(x, lv)

    The sums are rounded in another order, too.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Adjustment(mod).module()


class _Adjustment(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "matmul") or call.attrs:
            return call
        left, right = call.args
        inner = self.sole_definition(left)
        if is_call_of(inner, "matmul") and not inner.attrs:
            a, b = inner.args
            if self._second_first(a, b, right) is True:
                return op.matmul(a, self.builder_.emit(op.matmul(b, right)))
            return call
        inner = self.sole_definition(right)
        if is_call_of(inner, "matmul") and not inner.attrs:
            b, c = inner.args
            if self._second_first(left, b, c) is False:
                return op.matmul(self.builder_.emit(op.matmul(left, b)), c)
        return call

    def _second_first(self, a: Any, b: Any, c: Any) -> bool | None:
        """Whether the product of `b` and `c` comes first; None if that is not known."""
        shapes = [_matrix(value) for value in (a, b, c)]
        if any(shape is None for shape in shapes):
            return None
        (m, k), (_, n), (_, p) = shapes  # type: ignore[misc]
        zero = as_expr(0, INT64)
        fixed = [constant_of(self.builder_, value) is not None for value in (a, b, c)]
        first = zero if fixed[0] and fixed[1] else m * k * n
        second = zero if fixed[1] and fixed[2] else k * n * p
        left, right = first + m * n * p, second + m * k * p
        if _is_always_less(right, left):
            return True
        return False if _is_always_less(left, right) else None


def _is_always_less(a: Expr, b: Expr) -> bool:
    """Whether `a` is less than `b` for all sizes but 0, for which it does not matter."""
    sizes = {size: size + 1 for size in (*symbolic_vars_of(a), *symbolic_vars_of(b))}
    analyzer = Analyzer()
    assume_sizes(analyzer, sizes)
    return analyzer.can_prove(substitute(a, sizes) < substitute(b, sizes))


def _matrix(value: Any) -> tuple[Expr, ...] | None:
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.extents is None or info.ndim != 2:
        return None
    return info.extents


class ExpandMatmulOfSum(ModulePass):
    """Multiply by both summands of a matrix instead of by the sum.

    With `DeadCodeElimination` and `AdjustMatmulOrder` after it, a correction of low rank is never
    made a whole matrix::

        before:  lv = R.matmul(a, b)            after:  lv1 = R.matmul(x, w)
                 lv1 = R.add(w, lv)                     lv2 = R.matmul(x, R.matmul(a, b))
                 lv2 = R.matmul(x, lv1)                 lv3 = R.add(lv1, lv2)

    A sum of constants, or of weights (see `computable_at_compile_time`), stays, because it is
    computed once. The products are rounded in another way, too.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Expansion(mod).module()


class _Expansion(CountingMutator):
    def begin_function(self, function: Function) -> Function:
        self._computed_before = set(computable_at_compile_time(function))
        return super().begin_function(function)

    def visit_call_(self, call: Call) -> Any:
        is_known = bool(call.args) and call.args[-1] in self._computed_before
        call = super().visit_call_(call)
        if is_known or not is_call_of(call, "matmul"):
            return call
        left, right = call.args
        total = self.sole_definition(right)
        if not is_call_of(total, "add") or not self._may_be_taken_apart(total):
            return call
        products = [
            self.builder_.emit(call.replace(args=(left, part), struct_info=None))
            for part in total.args
        ]
        return op.add(*products)

    def _may_be_taken_apart(self, total: Call) -> bool:
        """Whether both summands have the shape of the sum, and are not known beforehand."""
        if all(isinstance(part, Constant) for part in total.args):
            return False
        infos = [self.builder_.normalize(value).struct_info for value in (*total.args, total)]
        return all(structural_equal(info, infos[-1]) for info in infos)


WEIGHT_COLUMNS: Final = {"relax.matmul": 1, "relax.linear": 0}
"""The dimension of the weights that becomes that of the result."""


class CombineParallelMatmul(ModulePass):
    """Multiply by several weights at once, such as by those of the projections of an attention.

    In a dataflow block, where the weights are constant matrices with equally many rows::

        before:  q = R.matmul(x, wq)            after:  lv = R.matmul(x, R.concat((wq, wk), axis=1))
                 k = R.matmul(x, wk)                    lv1 = R.split(lv, [wq.shape[1]], axis=-1)
                                                        q = lv1[0]
                                                        k = lv1[1]
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Combination(mod).module()


class _Combination(ModuleMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._groups: dict[Var, list[VarBinding]] = {}
        """By the variable of the first of several products, all of them."""
        self._parts: dict[Var, TupleGetItem] = {}
        """What the variable of a product is bound to instead."""

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock | None:
        groups: dict[Any, list[VarBinding]] = {}
        for binding in block.bindings:
            if isinstance(binding, VarBinding) and _is_product(binding.value):
                groups.setdefault(_shared_by_group(binding.value), []).append(binding)
        self._groups.update({g[0].var: g for g in groups.values() if len(g) > 1})
        return super().visit_dataflow_block_(block)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var in self._groups:
            self._combine(self._groups[binding.var])
        if binding.var in self._parts:
            self.reemit_binding(binding, self._parts[binding.var])
        else:
            super().visit_var_binding_(binding)

    def _combine(self, group: list[VarBinding]) -> None:
        calls: list[Any] = [member.value for member in group]
        axis = WEIGHT_COLUMNS[calls[0].op.name]
        weights = op.concat([call.args[1] for call in calls], axis=axis)
        args = (self.visit_expr(calls[0].args[0]), self.builder_.emit(weights))
        product = self.builder_.emit(calls[0].replace(args=args, struct_info=None))
        bounds = list(accumulate(int(call.args[1].data.shape[axis]) for call in calls))
        parts = self.builder_.emit(op.split(product, bounds[:-1], axis=-1))
        self._parts.update({m.var: TupleGetItem(parts, i) for i, m in enumerate(group)})


def _is_product(value: Any) -> bool:
    """Whether `value` is the product of a variable, of at least one dimension, with a matrix."""
    if not is_call_of(value, "matmul", "linear") or not isinstance(value.args[1], Constant):
        return False
    info = value.args[0].struct_info
    is_array = isinstance(value.args[0], Var) and isinstance(info, TensorStructInfo)
    return is_array and info.ndim > 0 and len(value.args[1].data.shape) == 2


def _shared_by_group(call: Any) -> Any:
    """What products must have in common to be computed at once."""
    x, weight = call.args
    rows = weight.data.shape[1 - WEIGHT_COLUMNS[call.op.name]]
    return x, call.op, rows, str(weight.data.dtype), call.attrs.get("out_dtype")


class FuseTransposeMatmul(ModulePass):
    """Multiply transposed matrices in one tensor program.

    That is so where a transposed matrix has no other use; one of a constant is left to
    `FoldConstant`::

        before:  lv = R.permute_dims(w)
                 lv1 = R.matmul(x, lv)
        after:   lv1 = R.call_tir(cls.NT_matmul, (x, w), ...)

    Attention reads queries, keys and values with the heads before the sequence in the same way.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Fusion(mod).module()


class _Fusion(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if is_call_of(call, "nn.attention"):
            return self._attention(self.builder_.normalize(call))
        if not is_call_of(call, "matmul"):
            return call
        call = self.builder_.normalize(call)
        sources, swapped = list(call.args), [False, False]
        for number, operand in enumerate(call.args):
            definition = self.sole_definition(operand)
            if is_call_of(definition, "permute_dims") and _swaps_the_last_two(definition):
                sources[number], swapped[number] = definition.args[0], True
        if not any(swapped) or not self._is_known(*sources, call):
            return call
        if swapped[0] and not _reads_few(sources[0], sources[1], call):
            sources[0], swapped[0] = call.args[0], False
        if not any(swapped) or not self._batches_agree(*sources):
            return call
        dtype = call.struct_info.dtype  # type: ignore[union-attr]
        wide = accumulator(dtype)

        def kernel(a: Tensor, b: Tensor) -> Tensor:
            product = topi.nn.matmul(a, b, None, str(wide), *swapped)
            return product if wide is dtype else topi.cast(product, str(dtype))

        name = "".join("T" if is_swapped else "N" for is_swapped in swapped)
        return self.builder_.call_te(kernel, *sources, primfunc_name_hint=f"{name}_matmul")

    def _attention(self, call: Call) -> Any:
        operands, heads_first = list(call.args[:3]), [False] * 3
        for number, operand in enumerate(operands):
            swapped = self.sole_definition(operand)
            if is_call_of(swapped, "permute_dims") and _swaps_heads(swapped):
                operands[number], heads_first[number] = swapped.args[0], True
        if not any(heads_first) or not self._is_known(*call.args, *operands):
            return call
        query, key, value = (operand.struct_info.extents for operand in call.args[:3])  # type: ignore[union-attr]
        pairs = [(query[n], key[n]) for n in (0, 2, 3)] + [(key[n], value[n]) for n in range(3)]
        if not all(self.builder_.analyzer.can_prove_equal(*pair) for pair in pairs):
            return call
        return attend(self.builder_, call, operands, (query, key), heads_first)

    def _is_known(self, *values: Any) -> bool:
        """Whether the sizes of tensors are known, if only by name."""
        infos = (value.struct_info for value in values)
        return all(isinstance(i, TensorStructInfo) and i.extents is not None for i in infos)

    def _batches_agree(self, left: Any, right: Any) -> bool:
        """Whether nothing broadcasts, or only one matrix along all."""
        a, b = left.struct_info.extents[:-2], right.struct_info.extents[:-2]
        if len(left.struct_info.extents) < 2:
            return False
        same = len(a) == len(b) and all(map(self.builder_.analyzer.can_prove_equal, a, b))
        return same or not b


def _reads_few(left: Any, right: Any, product: Any) -> bool:
    """Whether a transposed left operand is small, or few columns use it. For many, copying it takes
    less time than it saves."""
    *_, steps, rows = map(const_int_value, left.struct_info.extents)
    is_vector = right.struct_info.ndim == 1
    columns = 1 if is_vector else const_int_value(product.struct_info.extents[-1])
    is_small = steps is not None and rows is not None and steps * rows <= FEW_ELEMENTS
    return is_small or (columns is not None and columns <= FEW_COLUMNS)


def _swaps_heads(call: Call) -> bool:
    axes = call.attrs.get("axes")
    return axes is not None and [int(axis) for axis in axes] == [0, 2, 1, 3]


def _swaps_the_last_two(call: Call) -> bool:
    info = call.args[0].struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim < 2:
        return False
    axes, ndim = call.attrs["axes"], info.ndim
    if axes is None:
        return ndim == 2
    counted = [int(axis) % ndim for axis in axes]
    return counted == [*range(ndim - 2), ndim - 1, ndim - 2]
