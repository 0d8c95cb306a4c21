"""What compiles candidates."""

from tilewright.tune.measure import (
    Builder,
    BuilderInput,
    BuilderResult,
    LocalBuilder,
)

PyBuilder = Builder

__all__ = [
    "Builder",
    "BuilderInput",
    "BuilderResult",
    "LocalBuilder",
    "PyBuilder",
]
