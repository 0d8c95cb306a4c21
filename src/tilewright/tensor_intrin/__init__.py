"""The tensor intrinsics that come with Tilewright, for `Schedule.tensorize`.

`TensorIntrin.get` finds them by name, so nothing has to be imported.
"""

from __future__ import annotations

from tilewright.tensor_intrin.amx import tile_intrinsic_named
from tilewright.tensor_intrin.dot_product import dot_product_named
from tilewright.tensor_intrin.tensor_core import tensor_core_intrinsic_named
from tilewright.tir.tensor_intrin import TensorIntrin


def find(name: str) -> TensorIntrin | None:
    """The intrinsic `name`, if there is one."""
    return (
        dot_product_named(name) or tile_intrinsic_named(name) or tensor_core_intrinsic_named(name)
    )
