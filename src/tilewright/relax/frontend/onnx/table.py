"""The table of conversions.

It goes from the name of an operator of ONNX, with the domain before it if it is not the standard's
own (``ai.onnx.ml.Binarizer``), to a function that converts a node. Its positional parameters are
the operands; those that a node leaves out are None. Its keyword-only parameters are attributes,
with the defaults of the standard if the function names none. What was an attribute in an older
version of an operator and is an operand now is found by its name, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.relax.frontend.table import (
    AnyConverter,
    ConverterTable,
    UnsupportedError,
)

CONVERTERS: Final = ConverterTable()
"""All conversions."""
convert_by = CONVERTERS.convert_by

OLDEST_VERSIONS: Final[dict[str, int]] = {}
"""The first version of an operator that its conversion knows; by default all."""

ADVICE: Final = (
    "Write these parts of the model with other operators, or export it for another opset; "
    "`onnx.version_converter` changes the opset of a model."
)
"""What to do about nodes that cannot be converted."""


def converts(*names: str, since: int = 1) -> Callable[[AnyConverter], AnyConverter]:
    """Decorator: enter the function for the operators `names`.

    Args:
        names: of the operators.
        since: the first version of them that it knows.
    """
    OLDEST_VERSIONS.update(dict.fromkeys(names, since))
    return CONVERTERS.converts(*names)


class NotConstantError(UnsupportedError):
    """Raised where an operand decides the form of the graph, and is not a constant."""
