"""`ConfigSpace`: all settings of the knobs of a template."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Final

from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.config import Config
from tilewright.autotvm.task.space.config_entity import ConfigEntity
from tilewright.autotvm.task.space.knob import TransformSpace
from tilewright.error import ArgumentValueError, InstantiationError

ATTEMPTS: Final = 1000
"""Number of random indices of which none is valid, after which the valid ones are listed."""

LISTED: Final = 1_000_000
"""Number of indices up to which they are listed."""


class ConfigSpace(Config):
    """The knobs of a template, and the configs that they make.

    A config has an index, which is a number in the system whose digits are the positions of the
    values in the lists of the knobs; the first knob is the digit that changes fastest. Filters of
    several knobs leave indices out.

    Attributes:
        space_map: the knobs by name, in the order in which the template defines them.
        dims: number of values of each knob.
        range_length: number of indices, those included that filters leave out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, TransformSpace] = {}
        self._filters: list[Callable[[Mapping[str, Any]], Any]] = []
        self._length: int | None = None
        self._fingerprint: str | None = None

    def _define(self, name: str, count: int, make: Callable[[], TransformSpace]) -> Any:
        if not isinstance(name, str) or not name:
            raise ArgumentValueError(f"the name of a knob is a string, got {name!r}")
        space = make()
        if not len(space):
            raise ArgumentValueError(
                f"the knob {name!r} has no values to choose from: its filter refuses all of them, "
                "or its list of candidates is empty"
            )
        self.space_map[name] = space
        self._entity_map[name] = space[0]
        self._length = self._fingerprint = None
        return [VirtualAxis.made_by(name, position) for position in range(count)]

    def multi_filter(self, filter: Callable[[Mapping[str, Any]], Any]) -> None:
        """Leave out configs by what several knobs are set to; see `Config.multi_filter`."""
        if not callable(filter):
            raise ArgumentValueError(f"multi_filter: expected a function, got {filter!r}")
        self._filters.append(filter)
        self._length = None

    # --- indices --------------------------------------------------------------------------------

    @property
    def dims(self) -> list[int]:
        """Number of values of each knob."""
        return [len(space) for space in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """Number of indices, those included that filters leave out."""
        return math.prod(self.dims)

    def __len__(self) -> int:
        """Number of configs. With filters of several knobs each index is looked at once."""
        return self._count()

    def _count(self) -> int:
        """The same, also where it is too large for `len`."""
        if self._length is None:
            self._length = sum(1 for _ in self.indices()) if self._filters else self.range_length
        return self._length

    def indices(self) -> Iterator[int]:
        """The indices that no filter leaves out, in ascending order."""
        names = [*self.space_map][::-1]  # the last of a product changes fastest
        values = product(*(self.space_map[name].entities for name in names))
        for index, chosen in enumerate(values):
            if self._accepts(dict(zip(names, chosen, strict=True))):
                yield index

    def is_index_valid(self, index: int) -> bool:
        """Whether there is a config with an index."""
        if not 0 <= index < self.range_length:
            return False
        return not self._filters or self._accepts(self._entities(self.point2knob(index)))

    def _accepts(self, knobs: Mapping[str, Any]) -> bool:
        return all(accepts(knobs) for accepts in self._filters)

    def point2knob(self, point: int) -> list[int]:
        """The positions of the values of the config with an index, a number for each knob."""
        knob: list[int] = []
        for size in self.dims:
            point, position = divmod(point, size)
            knob.append(position)
        return knob

    def knob2point(self, knob: Sequence[int]) -> int:
        """The index of the config whose values have these positions."""
        point = 0
        for size, position in zip(reversed(self.dims), reversed(knob), strict=True):
            point = point * size + position
        return point

    # --- configs --------------------------------------------------------------------------------

    def get(self, index: int) -> ConfigEntity:
        """The config with an index.

        Raises:
            ArgumentValueError: for a number that is not an index.
            InstantiationError: for a config that a filter leaves out.
        """
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise ArgumentValueError(f"ConfigSpace.get: an index is an integer, got {index!r}")
        index = index.__index__()
        if not 0 <= index < self.range_length:
            raise ArgumentValueError(
                f"ConfigSpace.get: there is no config {index}; the space has "
                f"{self.range_length} indices"
            )
        entity = ConfigEntity(index, None, self._entities(self.point2knob(index)))
        if not self.is_index_valid(index):
            reason = "a filter of the template"
            raise InstantiationError(f"the config {entity} is left out by {reason}", reason)
        return entity

    def at(self, knob: Sequence[int]) -> ConfigEntity:
        """The config whose values have these positions.

        Raises:
            ArgumentValueError: if there are no such positions: they are those of another task.
            InstantiationError: for a config that a filter leaves out.
        """
        dims = self.dims
        if len(knob) != len(dims) or not all(0 <= p < d for p, d in zip(knob, dims, strict=True)):
            raise ArgumentValueError(
                f"the positions {list(knob)} are not those of a config of this template, whose "
                f"knobs have {dims} values"
            )
        return self.get(self.knob2point(knob))

    def positions(self, config: Config) -> list[int]:
        """The positions of the values of a config, which may have been read from a record.

        Raises:
            ArgumentValueError: for a config with other knobs, or with other values: it is one of
                another task.
        """
        if set(config) != set(self.space_map):
            raise ArgumentValueError(
                f"the config is one of another task: it has the knobs {list(config)}, and the "
                f"template {list(self.space_map)}"
            )
        found: list[int] = []
        for name, space in self.space_map.items():
            position = space.position(config[name])
            if position is None:
                raise ArgumentValueError(
                    f"the config is one of another task: {config[name]} is not a value of the knob "
                    f"{name!r}, which is {space}"
                )
            found.append(position)
        return found

    def _entities(self, knob: Sequence[int]) -> dict[str, Any]:
        return {name: s[at] for (name, s), at in zip(self.space_map.items(), knob, strict=True)}

    @property
    def fingerprint(self) -> str:
        """What is the same for equal spaces in all processes, as 16 hexadecimal digits."""
        if self._fingerprint is None:
            knobs = self.space_map.items()
            form = [[name, [entity.value for entity in space.entities]] for name, space in knobs]
            text = json.dumps(form).encode()
            self._fingerprint = hashlib.blake2b(text, digest_size=8).hexdigest()
        return self._fingerprint

    # --- random choices -------------------------------------------------------------------------

    def get_rand_index(
        self,
        start: int | None = None,
        end: int | None = None,
        to_exclude: Collection[int] = (),
        *,
        source: random.Random | None = None,
    ) -> int:
        """The index of a random config.

        Args:
            start: the smallest index.
            end: the index after the largest one.
            to_exclude: indices that are not wanted.
            source: of the random choice.

        Raises:
            ArgumentValueError: if there is no such config, or filters leave out nearly all of very
                many.
        """
        choice = source or random.Random()
        first, last = start or 0, self.range_length
        last = last if end is None else min(end, last)
        for _ in range(ATTEMPTS if first < last else 0):
            index = choice.randrange(first, last)
            if index not in to_exclude and self.is_index_valid(index):
                return index
        every = range(first, last) if last - first <= LISTED else ()
        rest = [index for index in every if index not in to_exclude and self.is_index_valid(index)]
        if not rest:
            raise ArgumentValueError(
                f"no config was found with an index from {first} to {last - 1} that is not "
                "excluded, and that no filter leaves out"
            )
        return choice.choice(rest)

    def sample_ints(self, m: int, *, source: random.Random | None = None) -> list[int]:
        """The indices of `m` different random configs; of all configs if there are not more.

        Args:
            m: how many.
            source: of the random choices.
        """
        choice = source or random.Random()
        if self.range_length <= LISTED:
            every = list(self.indices()) if self._filters else range(self.range_length)
            return choice.sample(every, min(m, len(every)))
        found: dict[int, None] = {}
        with suppress(ArgumentValueError):  # nearly all are left out
            while len(found) < m:
                found[self.get_rand_index(to_exclude=found, source=choice)] = None
        return list(found)

    def random_walk(self, point: int, *, source: random.Random | None = None) -> int:
        """The index of a config that differs from another one in one knob.

        Args:
            point: the index of the other one, which is returned if there is no such config.
            source: of the random choice.
        """
        choice = source or random.Random()
        knob = self.point2knob(point)
        near = [
            self.knob2point([*knob[:n], position, *knob[n + 1 :]])
            for n, size in enumerate(self.dims)
            for position in range(size)
            if position != knob[n]
        ]
        choice.shuffle(near)
        return next(filter(self.is_index_valid, near), point)

    def __repr__(self) -> str:
        count = self._count()
        lines = [f"ConfigSpace (len={count}, range_length={self.range_length}, space_map="]
        lines += [f"  {n:2d} {name}: {s}" for n, (name, s) in enumerate(self.space_map.items())]
        return "\n".join([*lines, ")"])
