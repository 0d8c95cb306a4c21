"""`Exporter`: from the methods of a module to graph functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.error import TVMError
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import IRModule
from tilewright.ir.recursion import ScopeStack
from tilewright.ir.rewrite import walk
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Tuple, TupleGetItem, Var
from tilewright.relax.frontend.nn import spec as specs
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.module import Module, attributes_of
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.spec import MethodSpec, ModuleSpec
from tilewright.relax.frontend.nn.tensor import Tensor, extent_of, graph_result
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.transform import CanonicalizeBindings
from tilewright.tir.substitute import substitute


class SymbolicSizes:
    """The symbolic sizes of one function: in it, the same name is the same size."""

    def __init__(self) -> None:
        self._sizes: dict[str, Size] = {}

    def argument_shape(self, shape: Iterable[Any]) -> list[Any]:
        """The shape of an argument: names become sizes; sizes of the user stay as they are."""
        extents = []
        for extent in shape:
            if isinstance(extent, str):
                extent = self._sizes.setdefault(extent, extent_of(extent))
            elif isinstance(extent, Expr):
                for size in walk(extent):
                    if isinstance(size, Size):
                        self._sizes.setdefault(size.name, size)
            extents.append(extent)
        return extents

    def parameter_shape(self, shape: Iterable[Any]) -> list[Any]:
        """The shape of a parameter, whose sizes are found by their names."""
        extents = []
        for extent in shape:
            if isinstance(extent, Expr):
                sizes = [size for size in walk(extent) if isinstance(size, Size)]
                own = {s: self._sizes.setdefault(s.name, Size(s.name, s.dtype)) for s in sizes}
                extent = substitute(extent, own)
            extents.append(extent)
        return extents

    def integer(self, name: str) -> Size:
        """The size that is an argument of its own."""
        return self._sizes.setdefault(name, Size(name, INT64))


class Exporter:
    """Makes a module of graph functions of a module of `nn`.

    Attributes:
        builder: builds the functions.
        io_effect: keeps the order of what is printed; None without `debug`.
        extern_mods: the external modules that are used.
    """

    def __init__(self, debug: bool = False) -> None:
        from tilewright.relax.frontend.nn.effect import IOEffect

        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_mods: list[Any] = []
        self._paths: dict[int, str] = {}

    @staticmethod
    def current() -> Exporter | None:
        """The exporter that is at work; None if there is none."""
        return _EXPORTERS.innermost()

    def add_external_module(self, module: Any) -> None:
        """Note that functions of an external module are called."""
        if module not in self.extern_mods:
            self.extern_mods.append(module)

    def path_of(self, module: Module) -> str:
        """The dotted path of a module below the one that is exported; empty for others."""
        return self._paths.get(id(module), "")

    def build(self, spec: ModuleSpec) -> tuple[IRModule, list[tuple[str, Parameter]], list[Any]]:
        """The graph functions, the parameters with their paths, and the external modules."""
        params = list(spec.module.named_parameters())
        effects = self._effects(spec.module)
        for path, module in attributes_of(spec.module, "", Module):
            self._paths.setdefault(id(module), path)
        placeholders = [param._expr for _, param in params]
        _EXPORTERS.enter(self)
        try:
            if effects:
                self._initialize(effects)
            for name, method in zip(spec.method_names, spec.method_specs, strict=True):
                try:
                    _Method(self.builder, method, params, effects).build(name)
                except TVMError as error:
                    error.args = (f"method {name}: {error}", *error.args[1:])
                    raise
        finally:
            _EXPORTERS.leave()
            for (_, param), placeholder in zip(params, placeholders, strict=True):
                param._expr = placeholder
        module = self.builder.finalize()
        check_well_formed(module)
        return CanonicalizeBindings()(module), params, self.extern_mods

    def _effects(self, module: Module) -> list[tuple[str, Effect]]:
        found = list(attributes_of(module, "", Effect))
        return found if self.io_effect is None else [("_io", self.io_effect), *found]

    def _initialize(self, effects: list[tuple[str, Effect]]) -> None:
        """The function that makes the first states of all effects."""
        builder = self.builder
        with builder.function("_initialize_effect", []):
            with builder.dataflow():
                states = [s for name, effect in effects for s in effect.emit_init(name, builder)]
                output = builder.emit_output(Tuple(states))
            builder.emit_func_output(output)


_EXPORTERS: ScopeStack[Exporter] = ScopeStack()


def export(
    module: Module, spec: Any, debug: bool
) -> tuple[IRModule, list[tuple[str, Parameter]], list[Any]]:
    """The graph functions of a module, its parameters with their paths, and external modules."""
    return Exporter(debug=debug).build(ModuleSpec.from_raw(spec, module))


class _Method:
    """One method while its function is built."""

    def __init__(
        self,
        builder: BlockBuilder,
        spec: MethodSpec,
        params: list[tuple[str, Parameter]],
        effects: list[tuple[str, Effect]],
    ) -> None:
        self._builder, self._spec = builder, spec
        self._params, self._effects = params, effects
        self._sizes = SymbolicSizes()

    def build(self, name: str) -> None:
        spec, builder = self._spec, self._builder
        arguments = [self._argument(*pair) for pair in zip(spec.arg_names, spec.arg_specs,
                                                           strict=True)]  # fmt: skip
        states = [effect.create(path) for path, effect in self._effects]
        weights = [self._weight(path, param) for path, param in self._params]
        effect_inputs = _as_mode(spec.effect_mode, "effects", [v for vs in states for v in vs])
        inputs = [*arguments, *effect_inputs]
        params = [*inputs, *_as_mode(spec.param_mode, "packed_params", weights)]
        with builder.function(name, params, attrs={"num_input": len(inputs)}):
            with builder.dataflow():
                self._bind_effects(states, effect_inputs)
                self._bind_weights(params[len(inputs) :], weights)
                values = [self._value(*triple) for triple in zip(
                    spec.arg_names, spec.arg_specs, arguments, strict=True)]  # fmt: skip
                result = graph_result(spec.method(*values))
                changed = [state for _, effect in self._effects for state in effect.finalize()]
                if changed and spec.effect_mode != "none":
                    result = Tuple([result, Tuple(changed)])
                output = builder.emit_output(result)
            builder.emit_func_output(output)

    # --- parameters of the function -----------------------------------------------------------

    def _argument(self, name: str, spec: Any) -> Var:
        return Var(name, self._info(name, spec))

    def _info(self, name: str, spec: Any) -> StructInfo:
        if isinstance(spec, specs.Int):
            return ShapeStructInfo([self._sizes.integer(name)])
        if isinstance(spec, specs.Tensor):
            return TensorStructInfo(self._sizes.argument_shape(spec.shape), spec.dtype)
        if isinstance(spec, specs.Tuple):
            fields = enumerate(spec.elements)
            return TupleStructInfo([self._info(f"{name}_{i}", element) for i, element in fields])
        return ObjectStructInfo()

    def _weight(self, path: str, param: Parameter) -> Var:
        return Var(path, TensorStructInfo(self._sizes.parameter_shape(param.shape), param.dtype))

    # --- what the method gets -----------------------------------------------------------------

    def _bind_effects(self, states: list[list[Var]], inputs: list[Var]) -> None:
        if self._spec.effect_mode == "none":
            return
        flat: list[Any] = [var for values in states for var in values]
        if self._spec.effect_mode == "packed":
            flat = [
                self._builder.emit(TupleGetItem(inputs[0], i), var.name_hint)
                for i, var in enumerate(flat)
            ]
        for (_, effect), values in zip(self._effects, states, strict=True):
            effect.set_state(flat[: len(values)])
            del flat[: len(values)]

    def _bind_weights(self, inputs: list[Var], weights: list[Var]) -> None:
        for index, ((path, param), weight) in enumerate(zip(self._params, weights, strict=True)):
            if self._spec.param_mode == "packed":
                param._expr = self._builder.emit(TupleGetItem(inputs[0], index), path)
            else:
                param._expr = weight

    def _value(self, name: str, spec: Any, var: Any) -> Any:
        if isinstance(spec, specs.Int):
            return self._sizes.integer(name)
        if isinstance(spec, specs.Object):
            return spec.object_type(_expr=var, _name=name)
        if isinstance(spec, specs.Tuple):
            values = []
            for index, element in enumerate(spec.elements):
                part = f"{name}_{index}"
                is_size = isinstance(element, specs.Int)
                field = None if is_size else self._builder.emit(TupleGetItem(var, index), part)
                values.append(self._value(part, element, field))
            return type(spec.elements)(values)
        return Tensor(_expr=var)


def _as_mode(mode: str, name: str, values: list[Var]) -> list[Var]:
    """Parameters of a function for several values: these, a tuple of them, or none."""
    if mode == "none":
        return []
    if mode == "plain" or not values:
        return values
    return [Var(name, TupleStructInfo([var.struct_info for var in values]))]  # type: ignore[misc]


def add_extern(mod: Any) -> None:
    """Let the exported module need an external module.

    Raises:
        ArgumentError: outside of `export_tvm` and `jit`.
    """
    from tilewright.error import ArgumentError

    exporter = Exporter.current()
    if exporter is None:
        raise ArgumentError("nn.add_extern: call it in a method of a module that is exported")
    exporter.add_external_module(mod)
