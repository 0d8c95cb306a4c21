"""What lower packages use of packages above them.

A package imports only packages below it. Where a lower one needs something from above, such as
`node.script()` the printer, it asks here for the module by what it provides. `tilewright`
itself, which knows all packages, names the modules. They are imported on first use, so importing
Tilewright stays quick.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

_MODULES: dict[str, str] = {}


def provide(modules: Mapping[str, str]) -> None:
    """Say which module provides what.

    Args:
        modules: names of modules by what they provide, such as ``"printer"``.
    """
    _MODULES.update(modules)


def provider(name: str) -> Any:
    """The module that provides `name`."""
    return importlib.import_module(_MODULES[name])


def is_provided(name: str) -> bool:
    """Whether a module provides `name`."""
    return name in _MODULES


def loaded_provider(name: str) -> Any | None:
    """The module that provides `name`, if it has been imported already."""
    return sys.modules.get(_MODULES[name])
