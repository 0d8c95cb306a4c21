"""What compiles candidates."""

from tilewright.tune.measure import Builder, BuilderInput, BuilderResult

PyBuilder = Builder

__all__ = ["Builder", "BuilderInput", "BuilderResult", "PyBuilder"]
