"""Replacing tensor programs by others that use other layouts of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, TVMError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.functions import remove_all_unused
from tilewright.relax.expr import Call, Function, Tuple, TupleGetItem, Var
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.op.manipulate import layout_transform
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator
from tilewright.te import compute
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_map import IndexMap

OPERATOR_NAME = "operator_name"
"""The attribute of a tensor program that says which operator it computes."""

Layout = IndexMap | Callable[..., Any] | None


class AlterOpImpl(ModulePass):
    """Replace tensor programs that compute some operators, and lay out their arrays as needed.

    ::

        before:  lv = R.call_tir(cls.add, (x, y), R.Tensor((16,), "float32"))
        after:   lv = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4))
                 lv1 = R.layout_transform(y, index_map=lambda i: (i // 4, i % 4))
                 lv2 = R.call_tir(cls.add_blocked, (lv, lv1), R.Tensor((4, 4), "float32"))
                 lv3 = R.layout_transform(lv2, index_map=lambda i, j: (i * 4 + j,))

    An array that is in the layout already, as one such program follows another, is used as it is.
    `LegalizeOps` comes after it.

    Args:
        op_impl_map: tensor programs by the names of operators; those of the module with such a name
            as their attribute ``operator_name`` are replaced.
        op_buffer_transforms: by the names of operators, for each array of the program, inputs
            first, the map from its indices to those of the new program; None for no change.
        op_buffer_axis_separators: must be empty: arrays of graphs have one physical dimension.
        op_buffer_input_axis_separators: must be empty, too.
    """

    def __init__(
        self,
        op_impl_map: Mapping[str, PrimFunc],
        op_buffer_transforms: Mapping[str, Sequence[Layout] | None],
        op_buffer_axis_separators: Mapping[str, Any] | None = None,
        op_buffer_input_axis_separators: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        for separators in (op_buffer_axis_separators, op_buffer_input_axis_separators):
            if any(map(any, (separators or {}).values())):
                raise ArgumentError("AlterOpImpl: arrays of graphs have no axis separators")
        for name, func in op_impl_map.items():
            if not isinstance(func, PrimFunc):
                raise ArgumentError(f"AlterOpImpl: {name!r} stands for no PrimFunc but {func!r}")
        unknown = [name for name in op_buffer_transforms if name not in op_impl_map]
        if unknown:
            raise ArgumentError(f"AlterOpImpl: there are layouts but no PrimFunc for {unknown}")
        self.op_impl_map = {**op_impl_map}
        self.layouts = {
            name: [None if item is None else _as_index_map(item) for item in items or ()]
            for name, items in op_buffer_transforms.items()
        }

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = _Replacing(mod, self.op_impl_map, self.layouts).module()
        if result is mod:
            return mod
        for var, func in list(result.functions.items()):
            if isinstance(func, Function):
                result.update_func(var, remove_all_unused(func))
        return result


def _as_index_map(layout: IndexMap | Callable[..., Any]) -> IndexMap:
    return (
        layout if isinstance(layout, IndexMap) else IndexMap.from_func(layout, index_dtype="int64")
    )


class _Replacing(ModuleMutator):
    def __init__(
        self,
        mod: IRModule,
        programs: Mapping[str, PrimFunc],
        layouts: Mapping[str, Sequence[IndexMap | None]],
    ) -> None:
        super().__init__(mod)
        self._programs, self._layouts = programs, layouts
        self._added: dict[str, GlobalVar] = {}
        self._laid_out: dict[Var, tuple[IndexMap, Var]] = {}
        """For results of new programs, what they were before they were brought back."""

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        name = self._operator_of(call)
        if name is None:
            return call
        operands: Any = call.args[1]
        infos = _results_of(call.sinfo_args[0])
        layouts = self._layouts.get(name) or [None] * (len(operands.fields) + len(infos))
        if len(layouts) != len(operands.fields) + len(infos):
            raise ArgumentError(
                f"AlterOpImpl: {len(layouts)} layouts are given for {name!r}, whose program has "
                f"{len(operands.fields)} inputs and {len(infos)} outputs"
            )
        inputs = [
            value if layout is None else self._in_layout(value, layout)
            for value, layout in zip(operands.fields, layouts, strict=False)
        ]
        results = layouts[len(inputs) :]
        changed = [
            info if layout is None else self._info_in_layout(info, layout)
            for info, layout in zip(infos, results, strict=True)
        ]
        whole = isinstance(call.sinfo_args[0], TupleStructInfo)
        info = TupleStructInfo(changed) if whole else changed[0]
        args = [self._program(name), Tuple(inputs), *call.args[2:]]
        value = self.builder_.emit(Call(CALL_TIR, args, None, [info], None, call.span))
        if not whole:
            return self._back(value, infos[0], results[0])
        parts = [self.builder_.emit(TupleGetItem(value, n)) for n in range(len(infos))]
        return Tuple([self._back(*item) for item in zip(parts, infos, results, strict=True)])

    def _operator_of(self, call: Call) -> str | None:
        """The operator that is called, if it is to be computed in another way."""
        if call.op is not CALL_TIR or not isinstance(call.args[1], Tuple):
            return None
        callee = call.args[0]
        func = self.mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
        name = None if func is None else func.attrs.get(OPERATOR_NAME)
        return str(name) if name is not None and str(name) in self._programs else None

    def _program(self, name: str) -> GlobalVar:
        if name not in self._added:
            func = self._programs[name].without_attr("global_symbol")
            func = func.with_attr(OPERATOR_NAME, name)
            hint = name.removeprefix("relax.").replace(".", "_")
            self._added[name] = self.builder_.add_func(func, f"{hint}_altered")
        return self._added[name]

    def _in_layout(self, value: Any, layout: IndexMap) -> Var:
        source = value
        while isinstance(source, Var) and source not in self._laid_out:
            source = self.lookup_binding(source)
        known = self._laid_out.get(source)  # type: ignore[arg-type]
        if known is not None and known[0].is_equivalent_to(layout):
            return known[1]
        return self.builder_.emit(layout_transform(value, layout))

    def _info_in_layout(self, info: TensorStructInfo, layout: IndexMap) -> TensorStructInfo:
        assert info.extents is not None
        return TensorStructInfo(layout.map_shape(info.extents, self.builder_.analyzer), info.dtype)

    def _back(self, value: Var, info: TensorStructInfo, layout: IndexMap | None) -> Var:
        """The value in the layout that it had."""
        if layout is None:
            return value
        assert info.extents is not None
        try:
            inverse = layout.inverse(info.extents)
        except TVMError:  # there is padding, which is left out
            call = self.builder_.call_te(
                lambda y: compute(
                    info.extents, lambda *i: y(*layout.map_indices(i)), "without_padding"
                ),
                value,
                primfunc_name_hint="without_padding",
            )
            return self.builder_.emit(call)
        result = self.builder_.emit(layout_transform(value, inverse))
        self._laid_out[result] = (layout, value)
        return result


def _results_of(info: StructInfo) -> list[TensorStructInfo]:
    return list(info.fields if isinstance(info, TupleStructInfo) else [info])  # type: ignore[arg-type]
