"""The log files of a tuning run."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tilewright.error import DatabaseError

TUNER: Final = logging.getLogger("tilewright.tune")
"""Above the loggers of all parts of the tuner."""

PREFIX: Final = "tvm.meta_schedule.logging"
"""Log files have the names that existing scripts look for."""

_FORMAT: Final = "%(asctime)s [%(levelname)s] [%(filename)s:%(lineno)d] %(message)s"
_DATE: Final = "%Y-%m-%d %H:%M:%S"


@contextmanager
def log_files(
    work_dir: str | Path | None, task_names: Sequence[str]
) -> Iterator[list[logging.Logger]]:
    """While inside, the tuner logs to files under ``work_dir/logs``; None for no files.

    One file has what all parts of the tuner log; each task has another one of its own.

    Returns:
        a logger for each task.
    """
    loggers = [logging.getLogger(name) for name in _logger_names(task_names)]
    if work_dir is None:
        yield loggers
        return
    directory = Path(work_dir) / "logs"
    attached = [(TUNER, directory / f"{PREFIX}.task_scheduler.log")]
    attached += [
        (logger, directory / f"{PREFIX}.{logger.name.rpartition('.')[2]}.log") for logger in loggers
    ]
    handlers: list[tuple[logging.Logger, logging.Handler, int]] = []
    try:
        for logger, path in attached:
            handler = _file_handler(path)
            handler.setFormatter(logging.Formatter(_FORMAT, _DATE))
            handlers.append((logger, handler, logger.level))
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG)
        for logger in loggers:
            logger.propagate = False
        TUNER.info("Logging directory: %s", directory)
        yield loggers
    finally:
        for logger, handler, level in handlers:
            logger.removeHandler(handler)
            logger.setLevel(level)
            handler.close()
        for logger in loggers:
            logger.propagate = True


def _file_handler(path: Path) -> logging.FileHandler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise DatabaseError(
            f"cannot write the log {path}: {error.strerror or error}; "
            "choose another `work_dir`, or None for no logs"
        ) from None


def _logger_names(task_names: Sequence[str]) -> list[str]:
    digits = len(str(max(len(task_names) - 1, 0)))
    return [
        f"tilewright.tuning_task.task_{i:0{digits}d}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:80]}"
        for i, name in enumerate(task_names)
    ]
