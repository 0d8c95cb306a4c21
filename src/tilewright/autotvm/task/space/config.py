"""What a template sees: an object to which it says its knobs, and which says what they are set to.

A template is called for two purposes. With a `ConfigSpace` its knobs are collected; with a
`ConfigEntity` they have values, and a schedule is made. It does the same in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.autotvm.task.space.annotate import AnnotateSpace
from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.knob import Entity, OtherOptionSpace
from tilewright.autotvm.task.space.reorder import ReorderSpace
from tilewright.autotvm.task.space.split import SplitSpace, output_count
from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.expr import FloatImm, IntImm


class Config:
    """Base class of what `autotvm.get_config` returns in a template.

    Attributes:
        flop: number of arithmetic operations of the program, as `add_flop` said; 0 if it did not.
        errors: what `raise_error` said.
        is_fallback: whether nobody has chosen the values, so that the template may.
    """

    is_fallback = False

    def __init__(self) -> None:
        self.flop: float = 0
        self.errors: list[str] = []
        self._entity_map: dict[str, Entity] = {}

    # --- knobs ----------------------------------------------------------------------------------

    @staticmethod
    def axis(var: Any) -> VirtualAxis:
        """A loop for the methods that define knobs.

        Args:
            var: a number of iterations, or a loop of a te schedule, which those methods also take
                as it is.

        Raises:
            ArgumentError: for anything else.
            ArgumentValueError: for a loop whose extent is not a positive constant.
        """
        return VirtualAxis(var)

    reduce_axis = axis

    def define_split(
        self, name: str, axis: Any, policy: str = "factors", **options: Any
    ) -> list[VirtualAxis]:
        """Define a knob that divides a loop into several.

        Args:
            name: of the knob; ``cfg[name].apply(s, C, axis)`` applies it.
            axis: the loop, or its length.
            policy: which sizes there are to choose from: ``"factors"``, ``"power2"``,
                ``"verbose"`` or ``"candidate"``; see `SplitSpace`.
            **options: ``num_outputs``, ``filter``, ``max_factor``, ``no_tail`` and ``candidate``;
                see `SplitSpace`.

        Returns:
            What stands for the new loops, outermost first.
        """
        count = output_count(name, options.get("num_outputs"), options.get("candidate"))
        return self._define(name, count, lambda: SplitSpace(name, _axis(axis), policy, **options))

    def define_reorder(
        self, name: str, axes: Sequence[Any], policy: str, **options: Any
    ) -> list[VirtualAxis]:
        """Define a knob that chooses the order of loops.

        Args:
            name: of the knob; ``cfg[name].apply(s, C, axes)`` applies it.
            axes: the loops.
            policy: ``"identity"``, ``"all"``, ``"interval_all"``, ``"candidate"``,
                ``"interleave"`` or ``"interleave_cuda"``; see `ReorderSpace`.
            **options: ``interval``, ``candidate``, ``spatial`` and ``reduce``; see `ReorderSpace`.

        Returns:
            What stands for the loops in the new order.
        """
        own = [_axis(axis) for axis in axes]
        return self._define(name, len(own), lambda: ReorderSpace(name, own, policy, **options))

    def define_annotate(
        self, name: str, axes: Sequence[Any], policy: str, **options: Any
    ) -> list[VirtualAxis]:
        """Define a knob that chooses how loops run, or where caches are computed.

        Args:
            name: of the knob; ``cfg[name].apply(s, C, axes)`` applies it.
            axes: the loops.
            policy: ``"unroll"``, ``"vec"``, ``"try_unroll"``, ``"try_vec"``, ``"try_unroll_vec"``,
                ``"bind_gpu"``, ``"bind_gpu_virtual"`` or ``"locate_cache"``; see `AnnotateSpace`.
            **options: ``num_anchor``; see `AnnotateSpace`.

        Returns:
            What stands for the loops.
        """
        own = [_axis(axis) for axis in axes]
        return self._define(name, len(own), lambda: AnnotateSpace(name, own, policy, **options))

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Define a knob with any values.

        Args:
            name: of the knob; ``cfg[name].val`` is the value.
            candidate: the values: numbers, strings, None, or lists of such.
        """
        self._define(name, 0, lambda: OtherOptionSpace(name, candidate))

    def multi_filter(self, filter: Callable[[Mapping[str, Any]], Any]) -> None:
        """Leave out configs by what several knobs are set to.

        Args:
            filter: says of the entities by name whether they go together, such as
                ``lambda knobs: knobs["tile_x"].size[-1] * knobs["tile_y"].size[-1] <= 64``.
        """

    def _define(self, name: str, count: int, make: Callable[[], Any]) -> list[VirtualAxis]:
        """Define a knob, unless its value is known already.

        Args:
            name: of the knob.
            count: number of loops that it makes.
            make: makes the space of its values.
        """
        del make
        return [VirtualAxis.made_by(name, position) for position in range(count)]

    # --- what the template says of itself -------------------------------------------------------

    def add_flop(self, flop: Any) -> None:
        """Say how many arithmetic operations the program does, if they cannot be counted.

        Args:
            flop: the number, which is added to those that were said before.
        """
        value = flop.value if isinstance(flop, (IntImm, FloatImm)) else flop
        try:
            self.flop += float(value)
        except (TypeError, ValueError):
            raise ArgumentError(f"cfg.add_flop: expected a number, got {flop!r}") from None

    def raise_error(self, msg: str) -> None:
        """Say that this config is not to be measured.

        Args:
            msg: the reason.
        """
        self.errors.append(str(msg))

    def valid(self) -> bool:
        """Whether the template accepted the config; known after it was instantiated with it."""
        return not self.errors

    # --- values ---------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        """What the knob of that name is set to.

        Raises:
            UnknownNameError: if there is none: the config is one of another task.
        """
        found = self._entity_map.get(name)
        if found is None:
            known = ", ".join(self._entity_map) or "no knobs"
            hint = did_you_mean(name, self._entity_map, f"; it has {known}")
            raise UnknownNameError(f"the config has no knob {name!r}{hint}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._entity_map)

    def __contains__(self, name: object) -> bool:
        return name in self._entity_map

    def get_flatten_feature(self) -> np.ndarray:
        """The values of all knobs as one array of float32, for models of the speed."""
        features = [number for entity in self._entity_map.values() for number in entity.features()]
        return np.array(features, np.float32)

    def get_other_option(self) -> dict[str, Any]:
        """The values of the knobs that `define_knob` defined, by name."""
        return {n: e.value for n, e in self._entity_map.items() if e.code == "ot"}

    def _values_text(self) -> str:
        return str(list(self._entity_map.items()))


def _axis(var: Any) -> VirtualAxis:
    return var if isinstance(var, VirtualAxis) else VirtualAxis(var)
