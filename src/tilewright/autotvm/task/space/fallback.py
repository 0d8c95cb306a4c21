"""`FallbackConfigEntity`: a config for a template that was not tuned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.autotvm.task.space.config_space import ConfigSpace
from tilewright.autotvm.task.space.knob import Entity
from tilewright.autotvm.task.space.split import SplitEntity, SplitSpace
from tilewright.error import ArgumentValueError
from tilewright.tir.schedule.traces.random_choices import divisors


class FallbackConfigEntity(ConfigSpace):
    """A config that a template completes itself, because nobody tuned it.

    Each knob has its first value, unless the template says another::

        cfg.define_split("tile", x, num_outputs=2)
        if cfg.is_fallback:
            cfg.fallback_split("tile", [-1, 16])
    """

    is_fallback = True

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Set a knob of `define_split` by limits.

        From the innermost loop on, each gets the largest factor of what is left that is within its
        limit. An axis of 128 with ``[-1, 8, 4]`` becomes 4, 8, 4; one of 49 becomes 7, 7, 1.

        Args:
            name: of the knob.
            constraints: the largest size of each loop, outermost first; -1 for no limit.

        Raises:
            ArgumentValueError: if there is no such knob, or the limits are not that many.
        """
        space = self.space_map.get(name)
        if not isinstance(space, SplitSpace) or len(constraints) != space.num_output:
            raise ArgumentValueError(
                f"fallback_split: {name!r} with {list(constraints)} is not a knob of define_split "
                f"and a limit for each of its loops; the knobs are {self.space_map}"
            )
        rest = space.product
        sizes: list[int] = []
        for limit in reversed(constraints):
            if limit < 1 and limit != -1:
                raise ArgumentValueError(
                    f"fallback_split: a limit is positive, or -1 for none; got {list(constraints)}"
                )
            sizes.append(max(f for f in divisors(rest) if limit == -1 or f <= limit))
            rest //= sizes[-1]
        self[name] = SplitEntity(sizes[::-1])

    def fallback_with_reference_log(self, ref_log: Iterable[tuple[Any, Any]]) -> None:
        """Set all knobs as in the record that is most like this space.

        Alike are two splits of lengths with many factors in common. The sizes of the record are
        limits; see `fallback_split`. Records with other knobs are passed over.

        Args:
            ref_log: records, each a `MeasureInput` and a `MeasureResult`.
        """
        splits = {n: s for n, s in self.space_map.items() if isinstance(s, SplitSpace)}
        configs = [record.config for record, _ in ref_log]
        usable = [config for config in configs if set(self.space_map) <= set(config)]
        best = max(usable, key=lambda config: _likeness(splits, config), default=None)
        if best is None:
            return
        for name in self.space_map:
            if name in splits:
                self.fallback_split(name, [-1, *best[name].size[1:]])
            else:
                self[name] = best[name]

    def __setitem__(self, name: str, entity: Entity) -> None:
        """Set a knob."""
        self._entity_map[name] = entity

    def __repr__(self) -> str:
        return f"{self._values_text()},None"


def _likeness(splits: dict[str, SplitSpace], config: Any) -> float:
    """The share of factors that the splits of a space have in common with those of a config."""
    total = 0.0
    for name, space in splits.items():
        own = set(divisors(space.product))
        other = set(divisors(abs(math.prod(config[name].size))))
        total += len(own & other) / len(own)
    return total
