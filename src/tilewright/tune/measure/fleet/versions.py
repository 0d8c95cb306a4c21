"""What has to be the same in all processes of a fleet."""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Mapping
from pathlib import Path

import tilewright


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what programs and results are written and read with.

    That of Tilewright has a digest of its source, since a version that is being developed has many
    sources.
    """
    import llvmlite

    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "llvmlite": llvmlite.__version__,
        "Tilewright": f"{tilewright.__version__} ({_digest()})",
    }


def _digest() -> str:
    root = Path(tilewright.__file__).parent
    hashed = hashlib.blake2b(digest_size=5)
    for path in sorted(root.rglob("*.py")):
        hashed.update(f"{path.relative_to(root)}\n".encode())
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def describe_difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str | None:
    """Which versions differ; None if none does."""
    different = [
        f"{name} {theirs.get(name, '(none)')}, here {version}"
        for name, version in ours.items()
        if theirs.get(name) != version
    ]
    return "; ".join(different) or None
