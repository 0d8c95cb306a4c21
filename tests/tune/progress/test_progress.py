"""Tables, logs and the live display."""

from __future__ import annotations

import io
import logging
import math
import re
import sys
from types import ModuleType

import pytest
from rich.console import Console
from tests.tune.fakes import Count, PaperBuilder, PaperRunner, task

from tilewright.error import DatabaseError
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.progress.live import LineObserver, LiveObserver, progress_observer
from tilewright.tune.progress.log import (
    LogObserver,
    TuningObserver,
    log_files,
    number,
    statistics_table,
)
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.scheduler import RoundRobin, TaskRecord


def tune(tmp_path, observers, tasks=None, **given):
    given.setdefault("runner", PaperRunner(lambda factor: "bad" if factor == 2 else 1.0 / factor))
    scheduler = RoundRobin()
    tasks = tasks or [task(strategy=Count(4))]
    scheduler.tune(
        tasks, [1.0] * len(tasks), 8, None, 4, PaperBuilder(tmp_path),
        measure_callbacks=MeasureCallback.create(), observers=observers, **given,
    )  # fmt: skip
    return scheduler


def test_the_table():
    first, second = TaskRecord(task(name="main"), 0, 1), TaskRecord(task(name="dense"), 1, 2.5)
    first.flop, first.latency, first.trials, first.is_terminated = (
        10737418240,
        0.1662853613,
        64,
        True,
    )
    assert statistics_table([first, second]) == (
        " ID |  Name |        FLOP | Weight | Speed (GFLOPS) | Latency (us) |"
        " Weighted Latency (us) | Trials | Done \n"
        "-----------------------------------------------------------------------"
        "------------------------------------\n"
        "  0 |  main | 10737418240 |      1 |        64.5722 |  166285.3613 |"
        "           166285.3613 |     64 |    Y \n"
        "  1 | dense |         128 |    2.5 |            N/A |          N/A |"
        "                   N/A |      0 |      \n"
        "-----------------------------------------------------------------------"
        "------------------------------------\n"
        "Total trials: 64\nTotal latency (us): 166285"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1, "1"), (0.5, "0.5"), (3.14159265, "3.14159"), (1234567.8, "1234568")],
)
def test_numbers(value, text):
    assert number(value) == text


def test_log_files_have_the_table_and_what_happened(tmp_path):
    contexts = [task(strategy=Count(4)), task(32, "a/b c", strategy=Count(4))]
    with log_files(tmp_path / "work", [c.task_name for c in contexts]) as loggers:
        for context, logger in zip(contexts, loggers, strict=True):
            context.logger = logger
        tune(tmp_path, [LogObserver()], contexts)
    names = sorted(path.name for path in (tmp_path / "work" / "logs").iterdir())
    assert names == [
        "tvm.meta_schedule.logging.task_0_main.log",
        "tvm.meta_schedule.logging.task_1_a_b_c.log",
        "tvm.meta_schedule.logging.task_scheduler.log",
    ]
    text = (tmp_path / "work" / "logs" / names[2]).read_text()
    for line in (
        'Initializing Task #0: "main"', 'TaskScheduler picks Task #1: "a/b c"',
        "Sending 4 sample(s) to builder", "Sending 4 sample(s) to runner",
        '[Updated] Task #0: "main"', "Task #1 has finished: the budget is used up. Remaining",
        'Failed candidates of Task #0: "main": 1 run',
        " ID |  Name | FLOP | Weight | Speed (GFLOPS) |",
    ):  # fmt: skip
        assert line in text, line
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[INFO\] \[log.py:\d+\] \S", text, re.M)
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[DEBUG\]", text, re.M)
    own = (tmp_path / "work" / "logs" / names[0]).read_text()
    assert "Candidate failed (run): bad" in own
    assert "Best after 4 trials: 250000.0000 us" in own
    assert "sch.split(" in own
    tuner = logging.getLogger("tilewright.tune")
    assert not tuner.handlers


def test_no_files_without_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with log_files(None, ["main"]) as loggers:
        assert len(loggers) == 1
    assert not list(tmp_path.iterdir())


def test_the_table_is_not_shown_where_it_cannot_change_in_place(tmp_path, capsys):
    tune(tmp_path, [LiveObserver(), LogObserver()])
    assert capsys.readouterr() == ("", "")
    tune(tmp_path, [progress_observer()])
    output, errors = capsys.readouterr()
    assert output == ""
    assert "4/8 trials" in errors


def test_the_live_display(tmp_path):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    observer = LiveObserver(console)
    tune(tmp_path, [observer])
    text = stream.getvalue()
    assert "main" in text
    assert "250000.0000" in text
    assert "1 run" in text
    assert "done" in text
    assert re.search(r"done \| \d+ s \| 4/8 trials \| [\d.]+ trials/s\s*$", text, re.M)


def test_a_line_for_each_batch(tmp_path):
    stream = io.StringIO()
    tune(tmp_path, [LineObserver(stream)])
    last = stream.getvalue().splitlines()[-1]
    assert re.search(r"main: 250000\.0000 us, [\d.]+ GFLOP/s \| 4/8 trials, \d+ s", last)
    assert "1 run" in last


class Handle:
    """What IPython returns for an output that can be replaced."""

    def __init__(self, first):
        self.shown = [first]

    def update(self, html):
        self.shown.append(html)


def test_the_display_of_a_notebook_needs_ipython_alone(tmp_path, monkeypatch):
    handles = []

    def display(html, display_id):
        assert display_id is True
        handles.append(Handle(html))
        return handles[-1]

    ipython = ModuleType("IPython.display")
    ipython.display, ipython.HTML = display, str
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", ipython)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    tune(tmp_path, [LiveObserver(Console(file=io.StringIO(), force_jupyter=True))])
    (handle,) = handles
    assert len(handle.shown) >= 2
    assert re.search(r"done \| \d+ s \| 4/8 trials", handle.shown[-1])
    assert "<pre" in handle.shown[-1]


def test_every_event_has_its_observer(tmp_path):
    heard = []

    class Everything(TuningObserver):
        def __getattribute__(self, name):
            heard.append(name)
            return super().__getattribute__(name)

    tune(tmp_path, [Everything()])
    assert set(heard) == {
        "begin", "task_begins", "task_picked", "sending", "built", "measured", "batch_ends",
        "task_ends", "end",
    }  # fmt: skip


def test_the_profiler_adds_up_phases(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("tilewright.tune.progress.profiler.time.perf_counter", lambda: next(clock))
    with Profiler() as profiler:
        assert Profiler.current() is profiler
        for _ in range(2):
            with Profiler.timeit("Search"):
                pass
    assert Profiler.current() is None
    assert profiler.get() == {"Search": 2, "Total": 5}
    table = profiler.table().splitlines()
    assert table[2].split() == ["Total", "|", "5.000", "|", "100.00%"]
    assert table[3].split() == ["Search", "|", "2.000", "|", "40.00%"]
    with Profiler.timeit("nobody asks"):
        pass


def test_the_phases_of_a_run(tmp_path):
    with Profiler() as profiler:
        tune(tmp_path, [])
    assert {"GenerateCandidates", "SendToBuilder", "JoinRunnerFutures"} <= set(profiler.get())
    assert math.fsum(profiler.get().values()) > 0


def test_logs_that_cannot_be_written(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(DatabaseError, match="choose another `work_dir`"), log_files(place, ["a"]):
        pass
