"""Scopes in which models are built with what logs say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tilewright.auto_scheduler.compute_dag import ComputeDAG
from tilewright.auto_scheduler.cost_model import XGBModel
from tilewright.auto_scheduler.measure import MeasureInput, MeasureResult
from tilewright.auto_scheduler.measure_record import open_log
from tilewright.auto_scheduler.search_policy import SketchPolicy
from tilewright.auto_scheduler.search_task import SearchTask
from tilewright.auto_scheduler.tuning_options import TuningOptions
from tilewright.error import ArgumentError
from tilewright.target import Target
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.database import Database, MemoryDatabase, fastest, selected

Records = str | os.PathLike[str] | Iterable[tuple[MeasureInput, MeasureResult]]


class ApplyHistoryBest:
    """Builds models with the best records of a log.

    ``with ApplyHistoryBest(log_file): relax.build(...)`` gives each tensor program for which there
    is a record the schedule of the fastest one.

    Args:
        records: a log, or candidates and what came of them, as `load_records` gives them.
        n_lines: how many records of a log, from the beginning; None for all.
        include_compatible: let records for other targets count in `query`.

    Attributes:
        database: the records.
    """

    def __init__(
        self,
        records: Records | None,
        n_lines: int | None = None,
        include_compatible: bool = False,
    ) -> None:
        self.database: Database = MemoryDatabase()
        self.include_compatible = include_compatible
        if records is not None:
            self.load(records, n_lines)

    def load(self, records: Records, n_lines: int | None = None) -> None:
        """Add records.

        Raises:
            DatabaseError: if there is no such log, or it cannot be read.
            ArgumentError: for something else.
        """
        if isinstance(records, (str, os.PathLike)):
            found = open_log(records).get_all_tuning_records()[:n_lines]
        else:
            found = [_record(item) for item in records][:n_lines]
        self.database.commit_tuning_records(found)

    def query(
        self,
        target: Target | str | None,
        workload_key: str,
        has_complex_op: bool = False,
        dag: ComputeDAG | None = None,
        func_name: str = "",
    ) -> MeasureCandidate | None:
        """The fastest candidate for a workload, or None.

        Args:
            target: records for targets with other instructions or another number of cores do not
                count.
            workload_key: names the computation.
            has_complex_op: for old programs.
            dag: for old programs.
            func_name: for old programs.
        """
        del has_complex_op, dag, func_name
        records = self.database.get_all_tuning_records()
        own = [record for record in records if record.task_name == workload_key]
        wanted = None if self.include_compatible else target
        best = fastest(selected(own, target=wanted), 1)
        return best[0].as_measure_candidate() if best else None

    def __enter__(self) -> ApplyHistoryBest:
        self.database.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.database.__exit__(*error)


def _record(item: Any) -> Any:
    try:
        inp, result = item
        return inp.with_result(result)
    except (TypeError, ValueError, AttributeError):
        raise ArgumentError(
            "ApplyHistoryBest: records are a log, or pairs of a MeasureInput and a MeasureResult; "
            f"got {item!r}"
        ) from None


class ApplyHistoryBestOrSample(ApplyHistoryBest):
    """The same; `query` searches for a workload that has no record.

    Args:
        records: as for `ApplyHistoryBest`.
        sample_simple_workloads: whether workloads without a record and `has_complex_op` are
            searched for, too.
        cost_model_file: what an `XGBModel` has saved; without, the analytical model is asked.
        num_measure: how many candidates are measured; -1 for none, then the cost model chooses.
    """

    def __init__(
        self,
        records: Records | None,
        sample_simple_workloads: bool = False,
        cost_model_file: str | os.PathLike[str] | None = None,
        num_measure: int = -1,
    ) -> None:
        super().__init__(records)
        self.sample_simple_workloads = sample_simple_workloads
        self.num_measure = num_measure
        self._model = XGBModel()
        if cost_model_file is not None:
            self._model.load(str(cost_model_file))

    def query(
        self,
        target: Target | str | None,
        workload_key: str,
        has_complex_op: bool = False,
        dag: ComputeDAG | None = None,
        func_name: str = "",
    ) -> MeasureCandidate | None:
        """The fastest candidate for a workload; if there is none, one that is searched for.

        Args:
            target: the target.
            workload_key: names the computation.
            has_complex_op: whether it is worth a search.
            dag: the computation, where the workload is not registered.
            func_name: for old programs.
        """
        found = super().query(target, workload_key, has_complex_op, dag, func_name)
        if found is not None or not (has_complex_op or self.sample_simple_workloads):
            return found
        task = SearchTask(compute_dag=dag, workload_key=workload_key, target=target)
        policy = SketchPolicy(task, self._model, verbose=0)
        if self.num_measure > 0:
            policy.search(TuningOptions(self.num_measure, verbose=0))
            self.database.commit_tuning_records(policy.known.get_all_tuning_records())
            return super().query(target, workload_key)
        best = policy.evolutionary_search(policy.sample_initial_population(), 1)
        return best[0] if best else None
