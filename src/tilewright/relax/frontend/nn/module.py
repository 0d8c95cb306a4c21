"""`Module`, and the containers `ModuleList`, `ModuleDict` and `Sequential`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.error import ArgumentError, TVMError, UnknownNameError
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.subroutine import SubroutineMixin
from tilewright.relax.frontend.nn.tensor import Parameter

if TYPE_CHECKING:
    from tilewright.ir.module import IRModule

Kind = TypeVar("Kind")


class Module(SubroutineMixin):
    """A layer or a model: attributes that are parameters, effects and other modules.

    ::

        class Model(nn.Module):
            def __init__(self):
                self.hidden = nn.Linear(784, 128)
                self.scores = nn.Linear(128, 10)

            def forward(self, x: nn.Tensor) -> nn.Tensor:
                return self.scores(nn.op.relu(self.hidden(x)))

    Methods compute with `nn.Tensor`; `export_tvm` makes graph functions of them, `jit` compiled
    ones. A class with ``define_subroutine = True`` becomes a function of its own, which is called.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`; an error in it names the path of this module."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise ArgumentError(
                f"{type(self).__name__} has no method `forward`: define it, or call another method"
            )
        try:
            return forward(*args, **kwargs)
        except TVMError as error:
            name_layer(error, self)
            raise

    # --- parameters ---------------------------------------------------------------------------

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted paths; one that has several paths with the first."""
        seen: set[int] = set()
        for name, parameter in attributes_of(self, prefix, Parameter):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def parameters(self) -> Iterator[Parameter]:
        """All parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """All parameters by their paths.

        Args:
            prefix: what the paths begin with.
            destination: a dictionary to add them to; by default a new one.
        """
        found = {} if destination is None else destination
        found.update(attributes_of(self, prefix, Parameter))
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Give parameters their elements, by their paths.

        Args:
            state_dict: parameters, or arrays of any framework, such as ``model.state_dict()`` of
                torch.
            strict: whether each parameter must be there, and nothing else.

        Returns:
            The paths of parameters that are not there, and those that are of no parameter.

        Raises:
            UnknownNameError: if `strict` and there are such paths.
            ShapeError: for data of another shape; its message names the parameter.
            DTypeError: for data of another dtype.
        """
        parameters = self.state_dict()
        missing = [name for name in parameters if name not in state_dict]
        unexpected = [name for name in state_dict if name not in parameters]
        if strict and (missing or unexpected):
            problems = [f"missing: {missing}"] if missing else []
            problems += [f"unexpected: {unexpected}"] if unexpected else []
            raise UnknownNameError(
                f"load_state_dict: the names are not those of {type(self).__name__}; "
                f"{'; '.join(problems)} (strict=False ignores them)"
            )
        for name, value in state_dict.items():
            if name in parameters:
                set_data(parameters[name], name, value)
        return missing, unexpected

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and of the modules below."""
        for value in vars(self).values():
            if isinstance(value, (Module, Parameter, Effect)):
                value.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    # --- compilation --------------------------------------------------------------------------

    def export_tvm(
        self, spec: Any, debug: bool = False, allow_extern: bool = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]] | tuple[Any, Any, list[Any]]:
        """The module of graph functions that the methods compute.

        The inputs of a function come first, then the effects, then the parameters under their
        paths. The attribute ``num_input`` counts inputs and effects.

        Args:
            spec: for each method what its arguments are, a dictionary or a
                `tilewright.relax.frontend.nn.spec.ModuleSpec`.
            debug: whether `nn.op.print_` and `nn.op.debug_func` are possible; functions take and
                return an effect then, which keeps their order.
            allow_extern: whether external modules are possible.

        Returns:
            The module, and the parameters with their paths; with `allow_extern` also the external
            modules.

        Raises:
            ArgumentError: for a spec that does not fit the methods, and for external modules
                without `allow_extern`.
        """
        from tilewright.relax.frontend.nn.exporter import Exporter
        from tilewright.relax.frontend.nn.spec import ModuleSpec

        mod, params, externs = Exporter(debug=debug).build(ModuleSpec.from_raw(spec, self))
        if allow_extern:
            return mod, params, externs
        if externs:
            raise ArgumentError(
                f"the module calls functions of external modules ({externs[0]!r}): "
                "export_tvm(spec, allow_extern=True) returns these as well"
            )
        return mod, params

    def jit(
        self,
        spec: Any,
        device: Any = "cpu",
        pipeline: Any = None,
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """Compile the module with the data of its parameters.

        Args:
            spec: see `export_tvm`.
            device: where it runs.
            pipeline: see `relax.build`; None for its default.
            out_format: what results are: ``"torch"``, ``"numpy"`` or ``"tvm"`` (`NDArray`).
            debug: see `export_tvm`.

        Returns:
            CompiledModule: ``compiled["forward"](x)`` calls a method with arrays.

        Raises:
            ArgumentError: if a parameter has no data, or for an unknown `out_format`.
        """
        from tilewright.relax.frontend.nn.jit import compile_module

        return compile_module(self, spec, device, pipeline, out_format, debug)


def set_data(parameter: Parameter, name: str, value: Any) -> None:
    """Give a parameter its elements; an error names the parameter."""
    try:
        parameter.data = value.data if isinstance(value, Parameter) else value
    except TVMError as error:
        error.args = (f"{name}: {error}", *error.args[1:])
        raise


def children_of(module: Module) -> Iterator[tuple[str, Any]]:
    """The attributes of a module, or what a container holds, with their names."""
    if isinstance(module, ModuleList):
        return ((str(index), child) for index, child in enumerate(module.modules))
    if isinstance(module, ModuleDict):
        return iter(module.modules.items())
    return iter(vars(module).items())


def attributes_of(
    module: Module, prefix: str, kind: type[Kind], ancestors: tuple[Module, ...] = ()
) -> Iterator[tuple[str, Kind]]:
    """All values of a class in a module and the modules below, with their dotted paths."""
    for name, value in children_of(module):
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, kind):
            yield path, value
        if isinstance(value, Module):
            if value is module or value in ancestors:
                raise ArgumentError(f"{path} is a module that contains itself")
            yield from attributes_of(value, path, kind, (*ancestors, module))


def name_layer(error: TVMError, module: Module) -> None:
    """Begin the message of an error in a layer with the path of the layer, unless it has one."""
    from tilewright.relax.frontend.nn.exporter import Exporter

    exporter = Exporter.current()
    if exporter is None or getattr(error, "_names_layer", False):
        return
    path = exporter.path_of(module)
    if path:
        error.args = (f"in layer {path} ({type(module).__name__}): {error}", *error.args[1:])
        error._names_layer = True  # type: ignore[attr-defined]


# --- containers -----------------------------------------------------------------------------


def _require_module(value: Any) -> Any:
    if not isinstance(value, Module):
        raise ArgumentError(f"expected an nn.Module, got {value!r}")
    return value


class ModuleList(Module):
    """Modules by number; as a layer, one after the other."""

    def __init__(self, modules: Sequence[Module] = ()) -> None:
        self.modules = [_require_module(module) for module in modules]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Any:
        return self.modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.modules[index] = _require_module(module)

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.modules.append(_require_module(module))

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters."""
        for module in self.modules:
            module.to(dtype)

    def forward(self, x: Any) -> Any:
        """Apply all modules, each to the result of the one before."""
        for module in self.modules:
            x = module(x)
        return x


class Sequential(ModuleList):
    """Modules that are applied one after the other: ``nn.Sequential(nn.Linear(4, 8), nn.ReLU())``.

    Args:
        *modules: the modules, or one sequence of them.
    """

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and not isinstance(modules[0], Module):
            modules = tuple(modules[0])
        super().__init__(modules)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self.modules: dict[str, Any] = {}
        self.update(modules or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __getitem__(self, key: str) -> Any:
        return self.modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.modules[key] = _require_module(module)

    def __len__(self) -> int:
        return len(self.modules)

    def __contains__(self, key: object) -> bool:
        return key in self.modules

    def keys(self) -> Any:
        """The names."""
        return self.modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self.modules.values()

    def items(self) -> Any:
        """The names and the modules."""
        return self.modules.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The module of that name, or `default`."""
        return self.modules.get(key, default)

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, or replace those of the same names."""
        for key, module in modules.items():
            self[key] = module

    def clear(self) -> None:
        """Remove all modules."""
        self.modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self.modules.pop(key)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters."""
        for module in self.modules.values():
            module.to(dtype)
