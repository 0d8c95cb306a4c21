"""Temporary memory of compiled functions, written in LLVM IR (``workspace.ll``).

A block is 64-byte aligned and has a header of 64 bytes that holds its size. Up to eight blocks of
at most 64 MiB are kept when they are freed, so that a function called again and again does not ask
the system for pages each time. A slot is taken and filled by atomic exchanges: any thread may
allocate and free.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

ALLOCATE: Final = "tilewright_workspace_allocate"
FREE: Final = "tilewright_workspace_free"


@functools.cache
def workspace_text() -> str:
    """The module that defines the functions, with which a program is linked."""
    return Path(__file__).with_name("workspace.ll").read_text()
