"""Whether and where tiles of what a block reads or writes are kept in memory of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, ArgumentValueError

REQUIREMENTS = ("no", "may", "must")


class ReuseType(NamedTuple):
    """Where tiles are cached.

    Attributes:
        req: ``"no"``: nowhere; ``"may"``: with and without are two sketches; ``"must"``: always.
        levels: in which tiles of the structure, counted from 1; one sketch each.
        scope: the memory of the cache.
    """

    req: str
    levels: tuple[int, ...] = ()
    scope: str = "global"

    def as_dict(self) -> dict[str, Any]:
        """It as a dictionary."""
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


NO_REUSE = ReuseType("no")


def as_reuse_type(value: Any, tiles: int) -> ReuseType:
    """A `ReuseType`, from one or from a dictionary.

    Args:
        value: what was given; None for no reuse.
        tiles: how many tiles there are.
    """
    if value is None:
        return NO_REUSE
    if isinstance(value, Mapping):
        unknown = set(value) - {"req", "levels", "scope"}
        if unknown:
            raise ArgumentError(f"a ReuseType has no {sorted(unknown)[0]!r}")
        value = ReuseType(value.get("req", "no"), value.get("levels", ()), value.get("scope", ""))
    if not isinstance(value, ReuseType):
        raise ArgumentError(f"expected a ReuseType or a dictionary, got {value!r}")
    if value.req not in REQUIREMENTS:
        raise ArgumentValueError(
            f"ReuseType: req is one of {', '.join(REQUIREMENTS)}, got {value.req!r}"
        )
    levels = tuple(int(level) for level in value.levels)
    if value.req != "no" and (not levels or not all(1 <= level <= tiles for level in levels)):
        raise ArgumentValueError(
            f"ReuseType: levels are tiles from 1 to {tiles}, got {list(value.levels)}"
        )
    return ReuseType(value.req, levels, value.scope or "global")
