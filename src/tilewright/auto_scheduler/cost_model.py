"""Cost models of the tuner that learn from logs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.auto_scheduler.measure_record import open_log
from tilewright.tune import cost_model
from tilewright.tune.context import TuneContext
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.scheduler import TaskRecord
from tilewright.tune.scheduler.known_trials import KnownTrials


class RandomModel(cost_model.RandomModel):
    """Scores at random."""


class XGBModel(cost_model.XGBModel):
    """What the analytical model expects, corrected by trees; see `tilewright.tune.cost_model`.

    Args:
        verbose_eval: after how many trees a line is logged; 0 for none.
        num_warmup_sample: from how many measurements on trees grow until they stop getting better.
        seed: for old programs; training is not random.
        model_file: a file that `save` wrote, to go on from, and that is written after each update.
        adaptive_training: do not learn anew from every measurement.
    """

    def __init__(
        self,
        verbose_eval: int = 25,
        num_warmup_sample: int = 100,
        seed: int | None = None,
        model_file: str | os.PathLike[str] | None = None,
        adaptive_training: bool = False,
    ) -> None:
        del seed
        super().__init__(
            verbose_eval=verbose_eval,
            num_warmup_samples=num_warmup_sample,
            adaptive_training=adaptive_training,
        )
        self._model_file = None if model_file is None else str(model_file)
        self._read: set[str] = set()
        if self._model_file is not None and Path(self._model_file).exists():
            self.load(self._model_file)

    def update_from_file(
        self, file_name: str | os.PathLike[str], n_lines: int | None = None
    ) -> None:
        """Learn from the candidates of a log that ran.

        Args:
            file_name: the log.
            n_lines: how many records, from the beginning; None for all.

        Raises:
            DatabaseError: if there is no such file, or it cannot be read.
        """
        groups: dict[tuple[str, str], MemoryDatabase] = {}
        for record in open_log(file_name).get_all_tuning_records()[:n_lines]:
            key = record.workload.key, str(record.target)
            groups.setdefault(key, MemoryDatabase()).commit_tuning_record(record)
        for database in groups.values():
            first = database.get_all_tuning_records()[0]
            context = TuneContext(first.workload.mod, target=first.target)
            candidates, results = KnownTrials(TaskRecord(context), database).valid()
            self.update(context, candidates, results)
            self._read.update(candidate.form for candidate in candidates)

    def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        """Learn from measurements; those that were read from a log count once."""
        new = [
            (candidate, result)
            for candidate, result in zip(candidates, results, strict=True)
            if not self._read or candidate.form not in self._read
        ]
        if new:
            super().update(context, *map(list, zip(*new, strict=True)))
            if self._model_file is not None:
                self.save(self._model_file)
