"""Arrays, tuples and other values that compiled functions make and keep, written in LLVM IR.

``objects.ll`` makes and gives up, ``object_values.ll`` copies and keeps.

An array is one block of memory: DLPack's ``DLManagedTensorVersioned``, the shape, the strides, and
from the next multiple of 64 bytes on the elements. The function that ends its life is ``free`` of
the C library, so an array may live longer than the code that made it. The host wraps it by
``TVMFFITensorFromDLPackVersioned``; without a host there is nobody to give it to.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

from tilewright.target.codegen.llvm.raising import DECLARATIONS, RAISE_TEXT, SHARED

NEW_ARRAY: Final = "tilewright_new_array"
NEW_TUPLE: Final = "tilewright_new_tuple"
RELEASE: Final = "tilewright_release_objects"
OWN: Final = "tilewright_own"
NEW_VIEW: Final = "tilewright_new_view"
COMPACT: Final = "tilewright_compact"
HAS_PACKED: Final = "tilewright_has_packed"


@functools.cache
def objects_text() -> str:
    """The module that defines the functions, with which a program is linked."""
    folder = Path(__file__).parent
    texts = [(folder / name).read_text() for name in ("objects.ll", "object_values.ll")]
    own = RAISE_TEXT.replace(SHARED, "internal ")
    return "\n".join([*DECLARATIONS[:2], own, *texts])
