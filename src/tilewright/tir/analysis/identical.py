"""Whether two expressions in one scope are the same."""

from __future__ import annotations

from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal


def identical(a: Node, b: Node) -> bool:
    """Whether two expressions are the same, of the same variables and the same buffers.

    Unlike this, `structural_equal` takes free buffers of one shape and dtype for each other.
    """
    return a is b or (
        structural_equal(a, b)
        and all(
            getattr(x, "buffer", None) is getattr(y, "buffer", None)
            for x, y in zip(walk(a), walk(b), strict=True)
        )
    )
