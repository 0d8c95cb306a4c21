"""Let programs that import ``tvm`` get Tilewright, without a change of their imports.

Import this module once, before anything imports ``tvm``::

    import tilewright.as_tvm

    import tvm
    from tvm.script import tir as T

Each module ``tvm.x`` is then the module ``tilewright.x`` itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import tilewright

_ALIAS = "tvm"


class _Alias(Loader):
    """Gives a module that is there already, and leaves its own description as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it has been run."""
        module.__spec__ = self._spec


class _Aliases(MetaPathFinder):
    """Finds ``tvm`` and what is in it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The description of a module that is ours under another name."""
        package, _, rest = fullname.partition(".")
        if package != _ALIAS:
            return None
        name = f"{tilewright.__name__}.{rest}".rstrip(".")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name == name:
                return None
            raise
        return ModuleSpec(fullname, _Alias(module), is_package=hasattr(module, "__path__"))


def _install() -> None:
    known = sys.modules.get(_ALIAS)
    if known is not None and known is not tilewright:
        raise ImportError(
            "tilewright.as_tvm: another package has been imported as tvm already; import "
            "tilewright.as_tvm first, or write `import tilewright as tvm`"
        )
    if not any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())


_install()
