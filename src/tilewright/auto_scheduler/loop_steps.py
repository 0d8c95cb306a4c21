"""The primitives of a state that transform the iterators of a stage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tilewright.auto_scheduler.stage_table import StageTable
from tilewright.auto_scheduler.state_parts import Iterator, IteratorLike, StageLike, is_integer
from tilewright.error import ArgumentError, ArgumentValueError, TVMError
from tilewright.ir.expr import IntImm
from tilewright.te.schedule.relation import domain
from tilewright.tir.expr import IterVar

MAX_INNERMOST_SPLIT_FACTOR: Final = 64
"""The largest innermost length that is tried for a split whose lengths are free."""


class LoopSteps(StageTable):
    """The primitives that transform the iterators of a stage."""

    def split(
        self,
        stage: StageLike,
        iterator: IteratorLike,
        lengths: Sequence[int | None],
        inner_to_outer: bool = True,
    ) -> list[Iterator]:
        """Split an iterator into several.

        Args:
            stage: the stage.
            iterator: what is split.
            lengths: the extents of all but the outermost of the new iterators, outer ones first.
                None is one that is free: a decision that a search makes, such that the lengths
                divide the extent.
            inner_to_outer: whether the outermost has no length; otherwise the innermost has none.

        Returns:
            The new iterators, outermost first, called ``i.0``, ``i.1`` and so on.

        Raises:
            ArgumentValueError: if there is no such stage or iterator, or those of the lengths that
                are not free do not divide the extent.
            TEScheduleError: if the iterator cannot be split so.
        """
        number, position, loop = self._find("split", stage, iterator)
        wanted = self._checked_lengths(number, loop, lengths)
        numbers = self._decided(number, loop, wanted, inner_to_outer) if None in wanted else wanted
        extent = self._known_extent(number, loop)
        made = self._split(number, loop, numbers, inner_to_outer)
        if None in wanted:
            given = [None, *wanted] if inner_to_outer else [*wanted, None]
            self._free.update(
                part for part, length in zip(made, given, strict=True) if length is None
            )
        self._lengths[len(self.transform_steps)] = numbers
        self._note("SP", number, position, extent, list(wanted), int(inner_to_outer))
        return self._iterators(number, made)

    def follow_split(
        self, stage: StageLike, iterator: IteratorLike, src_step_id: int, n_split: int
    ) -> list[Iterator]:
        """Split an iterator as another one was split, into fewer parts if wanted.

        Args:
            stage: the stage.
            iterator: what is split.
            src_step_id: the number of the split among `transform_steps`.
            n_split: into how many parts beyond the outermost: the innermost has the product of
                what is left of the lengths.

        Returns:
            The new iterators, outermost first.

        Raises:
            ArgumentValueError: if that step is not a split with that many lengths.
            TEScheduleError: if the iterator cannot be split so.
        """
        number, position, loop = self._find("follow_split", stage, iterator)
        lengths = self._lengths_of("follow_split", src_step_id)
        if not is_integer(n_split) or not 1 <= n_split <= len(lengths):
            raise ArgumentValueError(
                f"follow_split: step {src_step_id} has {len(lengths)} lengths, so n_split must be "
                f"from 1 to {len(lengths)}, got {n_split!r}"
            )
        numbers = [*lengths[: n_split - 1], math.prod(lengths[n_split - 1 :])]
        made = self._split(number, loop, numbers, True)
        self._follow([src_step_id], made)
        self._note("FSP", number, position, src_step_id, n_split)
        return self._iterators(number, made)

    def follow_fused_split(
        self,
        stage: StageLike,
        iterator: IteratorLike,
        src_step_ids: Sequence[int],
        level: int,
        factor_or_nparts: bool,
    ) -> list[Iterator]:
        """Split an iterator in two as iterators were split that were fused afterwards.

        Args:
            stage: the stage.
            iterator: what is split.
            src_step_ids: the numbers of the splits among `transform_steps`.
            level: which length of each; their product is the length here.
            factor_or_nparts: whether it is the extent of the inner iterator, or of the outer one.

        Returns:
            The two iterators.

        Raises:
            ArgumentValueError: if one of the steps is not a split with that many lengths.
            TEScheduleError: if the iterator cannot be split so.
        """
        primitive = "follow_fused_split"
        number, position, loop = self._find(primitive, stage, iterator)
        if not isinstance(src_step_ids, (list, tuple)):
            raise ArgumentError(f"{primitive}: expected a list of steps, got {src_step_ids!r}")
        found: list[Any] = []
        for step in src_step_ids:
            lengths = self._lengths_of(primitive, step)
            if not is_integer(level) or not 0 <= level < len(lengths):
                raise ArgumentValueError(
                    f"{primitive}: step {step} has {len(lengths)} lengths, none at level {level!r}"
                )
            found.append(lengths[level])
        made = self._split(number, loop, [math.prod(found)], factor_or_nparts)
        self._follow(src_step_ids, made)
        self._note("FFSP", number, position, list(src_step_ids), level, int(factor_or_nparts))
        return self._iterators(number, made)

    def fuse(self, stage: StageLike, iters: Sequence[IteratorLike]) -> Iterator:
        """Fuse consecutive iterators into one, called ``i@j@``.

        Raises:
            ArgumentValueError: if there is no such stage or iterator.
            TEScheduleError: if they are not consecutive.
        """
        number, positions, loops = self._find_all("fuse", stage, iters)
        name = "".join(f"{self._name(loop)}@" for loop in loops)
        fused = self._stages[number].fuse(*loops)
        if self._free.intersection(loops):
            self._free.add(fused)
        if len(loops) != 1:
            self._names[fused] = name
        self._note("FU", number, positions)
        return self._iterator(number, fused)

    def reorder(self, stage: StageLike, order: Sequence[IteratorLike]) -> None:
        """Put iterators into the given order, in the places that they have now.

        Raises:
            ArgumentValueError: if there is no such stage or iterator.
            TEScheduleError: if one of them appears twice.
        """
        number, positions, loops = self._find_all("reorder", stage, order)
        self._stages[number].reorder(*loops)
        after = list(range(len(self._stages[number].leaf_iter_vars)))
        for place, position in zip(sorted(positions), positions, strict=True):
            after[place] = position
        self._note("RE", number, after)

    def _split(
        self, number: int, loop: IterVar, lengths: Sequence[Any], inner_to_outer: bool
    ) -> list[IterVar]:
        before = self.copy() if len(lengths) > 1 else self
        stage, name, rest = self._stages[number], self._name(loop), loop
        made: list[IterVar] = []
        try:
            for length in reversed(lengths) if inner_to_outer else lengths:
                if inner_to_outer:
                    rest, part = stage.split(rest, factor=length)
                else:
                    part, rest = stage.split(rest, nparts=length)
                made.append(part)
        except TVMError:
            vars(self).update(vars(before))
            raise
        made.append(rest)
        made = made[::-1] if inner_to_outer else made
        self._names.update((part, f"{name}.{level}") for level, part in enumerate(made))
        return made

    def _known_extent(self, number: int, loop: IterVar) -> int:
        """The extent of a loop, 0 if it is not known yet."""
        extent = domain(loop).extent
        is_known = self._is_whole(number) and loop not in self._free
        return extent.value if is_known and isinstance(extent, IntImm) else 0

    def _follow(self, steps: Iterable[int], made: Iterable[IterVar]) -> None:
        """Let the iterators of a split be free if one that it follows is."""
        if any(None in self.transform_steps[step].arguments[3] for step in steps):
            self._free.update(made)

    def _checked_lengths(self, number: int, loop: IterVar, lengths: Any) -> list[int | None]:
        where = f"split of {self._name(loop)} of stage {self._stage_names[number]}"
        if not isinstance(lengths, (list, tuple)) or not lengths:
            raise ArgumentError(f"{where}: expected a list of lengths, got {lengths!r}")
        for length in lengths:
            if length is not None and not is_integer(length):
                raise ArgumentError(f"{where}: a length is an integer or None, got {length!r}")
        return list(lengths)

    def _decided(
        self, number: int, loop: IterVar, lengths: list[Any], inner_to_outer: bool
    ) -> list[Any]:
        """The lengths, with decisions for those that are free."""
        fixed = math.prod(length for length in lengths if length is not None)
        whole: Any = loop
        if fixed != 1:
            extent = domain(loop).extent
            is_known = isinstance(extent, IntImm) and loop not in self._free
            if not isinstance(extent, IntImm) or not is_known or fixed < 1 or extent.value % fixed:
                raise ArgumentValueError(
                    f"split of {self._name(loop)} of stage {self._stage_names[number]}: the "
                    f"lengths {lengths} are free in part, so the others must divide the extent, "
                    f"{extent if is_known else 'which is not decided'}"
                )
            whole = extent.value // fixed
        count = lengths.count(None) + 1
        factors = self.schedule.sample_perfect_tile(whole, count, MAX_INNERMOST_SPLIT_FACTOR)
        chosen = iter(factors[1:] if inner_to_outer else factors[:-1])
        return [next(chosen) if length is None else length for length in lengths]

    def _lengths_of(self, primitive: str, step: int) -> list[Any]:
        found = self._lengths.get(step) if is_integer(step) else None
        if found is None:
            codes = dict(enumerate(step.code for step in self.transform_steps))
            what = codes.get(step, "missing")
            raise ArgumentValueError(
                f"{primitive}: step {step!r} is {what}, but a split (SP) is followed; splits are "
                f"{', '.join(map(str, self._lengths)) or 'missing'}"
            )
        return found
