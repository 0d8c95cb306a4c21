"""Questions about tensor programs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tilewright.tir.analysis.expressions import identical as expr_deep_equal
from tilewright.tir.analysis.verify import verify_well_formed

if TYPE_CHECKING:
    from tilewright.tir.analysis.access_table import footprints, get_block_access_region
    from tilewright.tir.analysis.cost import calculate_workspace_bytes, estimate_tir_flops
    from tilewright.tir.analysis.dependence import dependences
    from tilewright.tir.analysis.expressions import undefined_vars
    from tilewright.tir.analysis.kernel_limits import verify_gpu_code

_HOME = {
    "calculate_workspace_bytes": "tilewright.tir.analysis.cost",
    "dependences": "tilewright.tir.analysis.dependence",
    "estimate_tir_flops": "tilewright.tir.analysis.cost",
    "footprints": "tilewright.tir.analysis.access_table",
    "get_block_access_region": "tilewright.tir.analysis.access_table",
    "undefined_vars": "tilewright.tir.analysis.expressions",
    "verify_gpu_code": "tilewright.tir.analysis.kernel_limits",
}


def __getattr__(name: str) -> Any:
    """Analyses are loaded when they are first asked for."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tilewright.tir.analysis' has no attribute {name!r}")
