"""Which config a template gets: contexts that are asked, the innermost first."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tilewright.autotvm.task.space import Config, FallbackConfigEntity
from tilewright.autotvm.task.workload import Workload, hashable
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.target import Target

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class _Current:
    """Reads the innermost context as an attribute of the class."""

    def __get__(self, instance: object, owner: type) -> DispatchContext:
        return _CURRENT.get() or ROOT


class DispatchContext:
    """Base class of contexts; ``with context:`` makes one the innermost.

    Subclasses define `_query_inside`.

    Attributes:
        current: the innermost context.
    """

    current: Any = _Current()

    def __init__(self) -> None:
        self._outer: list[tuple[DispatchContext, Token[Any]]] = []

    def query(self, target: Target | None, workload: Workload | None) -> Any:
        """The config for a task, from this context or one around it.

        Args:
            target: the current target.
            workload: what `args_to_workload` returned; None if it is asked within a template.
        """
        found = self._query_inside(target, workload)
        if found is not None:
            return found
        outer: DispatchContext = self._outer[-1][0] if self._outer else ROOT
        return outer.query(target, workload)

    def _query_inside(self, target: Target | None, workload: Workload | None) -> Any:
        """The config for a task; None if this context has none."""
        raise NotImplementedError(f"{type(self).__name__} has to define _query_inside")

    def update(self, target: Target | None, workload: Workload, cfg: Any) -> None:
        """Let this context have a config for a task."""
        raise NotImplementedError(f"{type(self).__name__} does not define update")

    def __enter__(self) -> Self:
        outer = DispatchContext.current
        self._outer.append((outer, _CURRENT.set(self)))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._outer.pop()[1])


_CURRENT: Final[ContextVar[DispatchContext | None]] = ContextVar("dispatch", default=None)


class ApplyConfig(DispatchContext):
    """Gives one config to every template.

    Args:
        config: the config.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        if not isinstance(config, Config):
            raise ArgumentError(
                f"ApplyConfig: expected a config such as task.config_space.get(0), got {config!r}"
            )
        self._config = config

    def _query_inside(self, target: Target | None, workload: Workload | None) -> Any:
        del target, workload
        return self._config

    def update(self, target: Target | None, workload: Workload, cfg: Any) -> None:
        """Give another config from now on."""
        del target, workload
        self._config = cfg


class ApplyHistoryBest(DispatchContext):
    """Gives each task the fastest config of some records.

    A record counts if it is of an equal task, and of the same target or, if there is none of that,
    one of the same family of targets.

    Args:
        records: the name of a file of records, or pairs of a `MeasureInput` and a
            `MeasureResult`, or a list of such.
    """

    def __init__(self, records: Any = None) -> None:
        super().__init__()
        self._best: dict[tuple[str, Workload], tuple[tuple[bool, float], Any]] = {}
        if records is not None:
            self.load(records)

    def load(self, records: Any) -> None:
        """Take in more records; those of failed candidates do not count.

        Raises:
            ArgumentError: for anything but records.
        """
        count = 0
        for measured, result in _pairs(records):
            count += 1
            if int(result.error_no) != 0:
                continue
            rank = rank_of(result)
            workload = hashable(measured.task.workload)
            for key in _keys(measured.target):
                self._note(key, workload, rank, measured.config)
        logger.debug("%d records are looked up", count)

    def _note(self, key: str, workload: Workload, rank: tuple[bool, float], config: Any) -> None:
        known = self._best.get((key, workload))
        if known is None or rank < known[0]:
            self._best[key, workload] = rank, config

    def _query_inside(self, target: Target | None, workload: Workload | None) -> Any:
        if workload is None:
            return None
        if target is None:
            raise ArgumentValueError(
                "ApplyHistoryBest: records are looked up by target, and there is none: call the "
                'template within `with tvm.target.Target("llvm"):`'
            )
        found = (self._best.get((key, hashable(workload))) for key in _keys(target))
        return next((config for _, config in filter(None, found)), None)

    def update(self, target: Target | None, workload: Workload, cfg: Any) -> None:
        """Give this config from now on, whatever the records say."""
        for key in _keys(target) if target is not None else ():
            self._best[key, hashable(workload)] = (False, 0.0), cfg


def rank_of(result: Any) -> tuple[bool, float]:
    """What results of configs that ran are ordered by: those that were measured come first.

    Args:
        result: a `MeasureResult`, or anything with `costs`.
    """
    return getattr(result, "is_estimate", False), sum(result.costs) / len(result.costs)


def _keys(target: Any) -> list[str]:
    """What records of a target are found by: its description, and its families."""
    own = Target(target)
    return [str(own), *own.keys]


def _pairs(records: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(records, (str, bytes, Path)) or hasattr(records, "read"):
        from tilewright.autotvm.record import load_from_file  # which names tasks

        yield from load_from_file(records)
        return
    if not isinstance(records, Iterable):
        raise ArgumentError(
            f"ApplyHistoryBest: expected records or a file of them, got {records!r}"
        )
    for item in records:
        if isinstance(item, Sequence) and len(item) == 2 and hasattr(item[0], "config"):
            yield item[0], item[1]
        else:
            yield from _pairs(item)


def apply_history_best(records: Any) -> ApplyHistoryBest:
    """A context in which templates get the fastest configs of some records.

    Example::

        with autotvm.apply_history_best("matmul.log"), tvm.target.Target("llvm"):
            s, args = matmul(512, 512, 512, "float32")
            func = tvm.build(s, args)

    Args:
        records: see `ApplyHistoryBest`.
    """
    return ApplyHistoryBest(records)


class FallbackContext(DispatchContext):
    """Gives a config that the template completes itself; the context around all others.

    It logs a warning, once for each task: what was not tuned may be slow.
    """

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[tuple[str, Workload | None], Any] = {}

    def _query_inside(self, target: Target | None, workload: Workload | None) -> Any:
        key = str(target), workload
        if key not in self.memory:
            if workload is not None:
                logger.warning(
                    "no config is known for target %s and workload %s; the template gets a "
                    "fallback config, with which it may be slow",
                    *key,
                )
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    def update(self, target: Target | None, workload: Workload, cfg: Any) -> None:
        """Give this config from now on."""
        self.memory[str(target), workload] = cfg

    def clear_cache(self, target: Target | None, workload: Workload) -> None:
        """Forget the config of a task."""
        self.memory.pop((str(target), workload), None)


ROOT: Final = FallbackContext()
"""The context around all others."""


def get_config() -> Any:
    """The config of the template that is being called.

    Returns:
        A `ConfigSpace` while the knobs of the template are collected, and a `ConfigEntity` or a
        `FallbackConfigEntity` while a schedule is made.
    """
    return DispatchContext.current.query(Target.current(), None)
