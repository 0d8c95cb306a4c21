"""`Module`: the base class of layers and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.error import ArgumentError, TVMError, UnknownNameError
from tilewright.providers import provider
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.subroutine import SubroutineMixin

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

    def _children(self) -> Iterable[tuple[str, Any]]:
        """The attributes, or what a container holds, with their names."""
        return vars(self).items()

    def _holds(self, kind: type) -> bool:
        """Whether the module, or one below, has a value of a class."""
        return next(attributes_of(self, "", kind), None) is not None

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
        for _, value in self._children():
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
        mod, params, externs = provider("exporter of nn").export(self, spec, debug)
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
            device: where it runs; it is compiled for that, unless a ``with Target(...)`` is around.
            pipeline: see `relax.build`; None for its default.
            out_format: what results are: ``"torch"``, ``"numpy"`` or ``"tvm"`` (`NDArray`).
            debug: see `export_tvm`.

        Returns:
            CompiledModule: ``compiled["forward"](x)`` calls a method with arrays.

        Raises:
            ArgumentError: if a parameter has no data, or for an unknown `out_format`.
        """
        compiler = provider("compiler of nn")
        return compiler.compile_module(self, spec, device, pipeline, out_format, debug)


def set_data(parameter: Parameter, name: str, value: Any) -> None:
    """Give a parameter its elements; an error names the parameter."""
    try:
        parameter.data = value.data if isinstance(value, Parameter) else value
    except TVMError as error:
        error.args = (f"{name}: {error}", *error.args[1:])
        raise


def attributes_of(
    module: Module, prefix: str, kind: type[Kind], ancestors: tuple[Module, ...] = ()
) -> Iterator[tuple[str, Kind]]:
    """All values of a class in a module and the modules below, with their dotted paths."""
    for name, value in module._children():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, kind):
            yield path, value
        if isinstance(value, Module):
            if value is module or value in ancestors:
                raise ArgumentError(f"{path} is a module that contains itself")
            yield from attributes_of(value, path, kind, (*ancestors, module))


def name_layer(error: TVMError, module: Module) -> None:
    """Begin the message of an error in a layer with the path of the layer, unless it has one."""
    exporter = provider("exporter of nn").Exporter.current()
    if exporter is None or getattr(error, "_names_layer", False):
        return
    path = exporter.path_of(module)
    if path:
        error.args = (f"in layer {path} ({type(module).__name__}): {error}", *error.args[1:])
        error._names_layer = True  # type: ignore[attr-defined]
