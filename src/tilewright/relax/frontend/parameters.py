"""The weights of an imported model that are parameters of its functions."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.relax.expr import Function
from tilewright.runtime.ndarray import NDArray


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """Take the weights out of the attribute ``params`` of each graph function.

    Args:
        mod: a module that was imported with ``keep_params_as_input=True``.

    Returns:
        The module without them, and for each function that had some the weights in the order of
        its last parameters.
    """
    result = mod.clone()
    params: dict[str, list[NDArray]] = {}
    for name, function in mod.functions.items():
        if isinstance(function, Function) and "params" in function.attrs:
            params[name.name_hint] = [weight.data for weight in function.attrs["params"]]
            result.update_func(name, function.without_attr("params"))
    return result, params
