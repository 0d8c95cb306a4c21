"""How much memory a call of a graph function takes."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.providers import provider
from tilewright.relax.expr import Function
from tilewright.relax.sizes import size_text


def estimate_memory_usage(mod: IRModule | Function) -> str:
    """A text with the memory for temporary arrays that a call of each graph function takes.

    Arrays that are not needed at the same time share memory. Results, constants and arrays inside
    of tensor programs do not count.

    Args:
        mod: a module, or a function that calls none of its module.
    """
    if isinstance(mod, Function):
        mod = IRModule({mod.global_symbol or "main": mod})
    legal = provider("graph passes").LegalizeOps()(mod)
    graphs = provider("graph compiler").graph_programs(legal)
    lines = ["Memory for temporary arrays:"]
    for name, plan in graphs.plans.items():
        lines.append(
            f"- {name.name_hint}: {size_text(plan.size)} bytes, {len(plan.offsets)} arrays; "
            f"{size_text(plan.unshared_size)} bytes if none shared memory"
        )
    lines += [f"- {name.name_hint}: not known, {why}" for name, why in graphs.reasons.items()]
    return "\n".join(lines)
