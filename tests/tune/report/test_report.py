"""Reports: what they say, and that they need nothing else."""

import html
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from tests.tune.database.programs import matmul, record_of, relu

from tilewright.error import ArgumentValueError, DatabaseError
from tilewright.runtime.peaks import Peaks
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.report import load_phases, save_phases, write_report
from tilewright.tune.report.summary import grouped, summarized

PEAKS = Peaks(
    threads=1,
    operations={"float32": 200e9},
    bandwidth={"L1": 260e9, "L2": 120e9, "L3": 30e9, "DRAM": 12e9},
    capacity={"L1": 32 << 10, "L2": 2 << 20, "L3": 32 << 20},
)
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
TIMES = (4e-6, None, 2e-6, 3e-6, None, 1e-6)


@pytest.fixture
def database():
    """Records of two tasks, one with a name that looks like HTML."""
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    for number, seconds in enumerate(TIMES):
        failure = {"error": "<script>killed</script> by signal 11", "error_kind": "crash"}
        database.commit_tuning_record(
            record_of(
                workload,
                None if seconds is None else [seconds],
                tile=(2, 4, 8)[number % 3],
                task_name="dense <b>1</b>",
                **({} if seconds else failure),
            )
        )
    workload = database.commit_workload(relu())
    database.commit_tuning_record(
        record_of(workload, None, task_name="relu", error="too slow", error_kind="timeout")
    )
    return database


def report(database, tmp_path, **options):
    return write_report(tmp_path / "report.html", database, **options).read_text()


class Balance(HTMLParser):
    """Checks that each element ends, and collects what refers to something outside."""

    VOID = ("meta", "br", "circle", "line", "path", "rect")

    def __init__(self):
        super().__init__()
        self.open, self.references = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID or tag == "circle":
            self.open.append(tag)
        self.references += [value for name, value in attrs if name in ("href", "src", "data")]

    def handle_startendtag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(database, tmp_path):
    text = report(database, tmp_path, peaks=PEAKS, phases={"SendToBuilder": 2.0, "Total": 5.0})
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    assert parser.references == []
    assert "<script" not in text
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    for svg in SVG.findall(text):
        ElementTree.fromstring(svg)


def test_names_and_messages_are_text(database, tmp_path):
    text = report(database, tmp_path, peaks=PEAKS)
    assert "dense &lt;b&gt;1&lt;/b&gt;" in text
    assert "&lt;script&gt;killed&lt;/script&gt; by signal 11" in text
    assert "<b>1" not in text


def test_every_candidate_is_in_the_charts(database, tmp_path):
    text = report(database, tmp_path, peaks=PEAKS)
    roof, curve = SVG.findall(text)  # relu never ran
    assert roof.count('class="point"') == 4
    assert curve.count('class="point"') == 4
    assert curve.count('class="failed"') == 2
    assert curve.count('class="best"') == 1
    assert "float32 200 GFLOP/s" in roof
    assert "DRAM 12.0 GB/s" in roof


def test_the_best_time_only_falls(database, tmp_path):
    _, curve = SVG.findall(report(database, tmp_path, peaks=PEAKS))
    (path,) = re.findall(r'class="line" d="([^"]*)"', curve)
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)|V([\d.]+)", path) for y in y if y]
    assert len(heights) == 3  # 4, 2 and 1 us
    assert heights == sorted(heights)
    assert "1.00 \u00b5s, 8.19 GFLOP/s" in curve


def test_the_table_of_tasks(database, tmp_path):
    text = html.unescape(report(database, tmp_path, peaks=PEAKS))
    rows = re.findall(r"<tr>(.*?)</tr>", text)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in rows]
    assert cells[1] == [
        "dense <b>1</b>", "6", "2", "4.00 \u00b5s", "1.00 \u00b5s", "4.00\u00d7", "8.19 GFLOP/s",
        "4 %",
    ]  # fmt: skip
    assert cells[2][:3] == ["relu", "1", "1"]
    assert ["crash", "2", "<script>killed</script> by signal 11"] in cells
    assert ["timeout", "1", "too slow"] in cells


def test_the_program_before_and_after(database, tmp_path):
    text = html.unescape(re.sub(r"<[^>]*>", "", report(database, tmp_path, peaks=PEAKS)))
    assert "for i, j, k in T.grid(16, 16, 16):" in text
    assert "for i_0, i_1, j, k in T.grid(2, 8, 16, 16):" in text
    assert "decision=[2, 8]" in text


def test_a_better_measurement_is_no_new_trial(database):
    workload = database.commit_workload(matmul())
    database.commit_tuning_record(
        record_of(workload, [5e-6], tile=8, task_name="dense <b>1</b>", supersedes=True)
    )
    task = summarized(database.get_all_tuning_records())[0]
    assert len(task.trials) == 6
    assert task.best_seconds == 3e-6  # 1 us and 2 us were of the candidate that takes 5 us


def test_records_of_another_machine_have_no_roofs_of_this_one(tmp_path):
    database = MemoryDatabase()
    workload = database.commit_workload(matmul())
    machine = {"cpu": "another", "cores": 8}
    database.commit_tuning_record(record_of(workload, [1e-6], machine=machine))
    text = report(database, tmp_path)
    assert len(SVG.findall(text)) == 1
    assert "another, 8 cores" in text


def test_phases(tmp_path):
    assert load_phases(tmp_path) is None
    save_phases(tmp_path, {"SendToBuilder": 2.0, "JoinRunnerFutures": 1.0, "Total": 4.0})
    save_phases(tmp_path, {"SendToBuilder": 1.0, "GenerateCandidates": 0.5, "Total": 2.0})
    found = grouped(load_phases(tmp_path))
    assert found == {
        "search": 0.5, "build": 3.0, "run": 1.0, "check": 0.0, "learn": 0.0, "other": 1.5,
    }  # fmt: skip
    (tmp_path / "logs" / "profile.json").write_text("{")
    assert load_phases(tmp_path) is None


def test_where_the_time_went(database, tmp_path):
    phases = {"GenerateCandidates": 5.0, "SendToBuilder": 15.0, "Total": 80.0}
    text = report(database, tmp_path, peaks=PEAKS, phases=phases)
    assert "search 5.00 s (6 %)" in text
    assert "build 15.0 s (19 %)" in text
    assert "other 1 min 0 s (75 %)" in text


def test_what_cannot_be_reported(database, tmp_path):
    with pytest.raises(ArgumentValueError, match="no records"):
        write_report(tmp_path / "report.html", MemoryDatabase())
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match="cannot write"):
        write_report(tmp_path / "file" / "report.html", database, peaks=PEAKS)
