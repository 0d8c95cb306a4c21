"""Names of `R` that users know from elsewhere, and what to write instead of them."""

from __future__ import annotations

from typing import Final

_MEMORY: Final = "relax.build plans memory by itself: write the computation alone"
_DEVICES: Final = "a program runs on one device: write the whole computation"
_GRADIENTS: Final = "gradients are taken by the framework that trains the model: import its program"

_INSTEAD: Final[dict[str, str]] = {
    "arg": "parameters stand in the signature: `def main(x: R.Tensor((2, 3), 'float32'))`",
    "SeqExpr": "bindings stand in the body of a function or a branch; in Python, use "
    "relax.BlockBuilder",
    "rewriter": "write a pattern of relax.dpl and relax.dpl.rewrite_call",
    "call_builtin_with_ctx": "a program has no machine that a function could ask: write "
    "R.call_packed",
    "register_gradient": _GRADIENTS,
    "builtin.stop_lift_params": "LiftTransformParams moves what depends on weights alone",
    "builtin.alloc_tensor": _MEMORY,
    "memory.view": "write R.reshape, or R.strided_slice for a part",
    "memory.ensure_zero_offset": "arrays begin where their memory does: leave it out",
    "view": "write R.reshape, or R.strided_slice for a part",
    "ensure_zero_offset": "arrays begin where their memory does: leave it out",
    "memory": _MEMORY,
    "vm": _MEMORY,
    "grad": _GRADIENTS,
    "ccl": _DEVICES,
    "dist": _DEVICES,
    "DTensor": f"{_DEVICES} on R.Tensor",
}
"""What to do instead, by name; that of a namespace is for all names in it."""

_NAMESPACES: Final = ("builtin", "memory", "vm", "grad", "ccl", "dist")


def is_namespace(name: str) -> bool:
    """Whether `name` is a namespace elsewhere, all names of which are missing here."""
    return name in _NAMESPACES


def instead_of(name: str) -> str | None:
    """What to write instead of ``R.name``; None if that is no name known from elsewhere."""
    return _INSTEAD.get(name) or _INSTEAD.get(name.partition(".")[0])
