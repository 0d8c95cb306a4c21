"""What tests that are written for TVM use of pytest, which is imported on use."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from tilewright.error import TargetError
from tilewright.runtime.device import device
from tilewright.target import Target

_BUILT_FOR = ("llvm", "c")
"""The kinds of targets that `tvm.build` compiles for."""


def main() -> None:
    """Run the tests of the file that calls this, and end the process with the result."""
    import pytest

    file = sys._getframe(1).f_globals["__file__"]
    sys.exit(pytest.main([file, *sys.argv[1:]]))


def device_enabled(target: str | Target) -> bool:
    """Whether programs can be built for `target` and run here."""
    try:
        chosen = Target(target) if isinstance(target, str) else target
        return chosen.kind.name in _BUILT_FOR and chosen.is_host
    except TargetError:
        return False


def enabled_targets() -> list[tuple[str, Any]]:
    """Pairs of a target and a device, for those on which programs run."""
    return [("llvm", device("llvm"))]


def _requires(condition: bool, reason: str) -> Any:
    """A mark for a test that is skipped unless a condition holds; to be called or not."""

    def mark(*functions: Any) -> Any:
        import pytest

        skip = pytest.mark.skipif(not condition, reason=reason)
        return skip(functions[0]) if functions else skip

    return mark


requires_llvm = _requires(True, "needs target llvm")
requires_gpu = uses_gpu = _requires(False, "programs are not compiled for GPUs")
requires_cuda = _requires(False, "programs are not compiled for target cuda")
requires_opencl = _requires(False, "programs are not compiled for target opencl")


def requires_package(*packages: str) -> Any:
    """A mark for a test that is skipped unless packages are installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return _requires(not missing, f"needs the packages {', '.join(missing)}")()


def slow(function: Any) -> Any:
    """A mark for a test that takes long; it runs all the same."""
    return function


def parametrize_targets(*targets: Any) -> Any:
    """Run a test, which takes ``target`` and ``dev``, for each of these targets that runs here."""
    import pytest

    is_bare = len(targets) == 1 and callable(targets[0])
    names = ["llvm"] if is_bare or not targets else list(targets)
    pairs = [(name, device("cpu")) for name in names if device_enabled(name)]
    mark = pytest.mark.parametrize(("target", "dev"), pairs, ids=[str(name) for name, _ in pairs])
    return mark(targets[0]) if is_bare else mark


def fixture(function: Any = None, *, cache_return_value: bool = False) -> Any:
    """A fixture of pytest; with `cache_return_value` its value is computed once a session."""
    import pytest

    decorate = pytest.fixture(scope="session" if cache_return_value else "function")
    return decorate if function is None else decorate(function)


def parameter(*values: Any, ids: Sequence[str] | None = None) -> Any:
    """A fixture that has each of these values in turn; tests take it by the name it is bound to."""
    import pytest

    def value_of(request: Any) -> Any:
        return request.param

    return pytest.fixture(params=values, ids=ids)(value_of)
