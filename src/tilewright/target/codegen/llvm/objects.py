"""Arrays and tuples that compiled functions make, written in LLVM IR (``objects.ll``).

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


@functools.cache
def objects_text() -> str:
    """The module that defines the functions, with which a program is linked."""
    text = Path(__file__).with_name("objects.ll").read_text()
    own = RAISE_TEXT.replace(SHARED, "internal ")
    return "\n".join([*DECLARATIONS[:2], own, text])
