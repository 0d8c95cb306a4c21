"""Results are written, read again, and added to."""

import json

from benchmarks.harness.record import Record
from benchmarks.harness.results import Results
from benchmarks.harness.timing import Sample

from tilewright.runtime.peaks import Peaks

MACHINE = {"processor": "a processor", "packages": {"numpy": "2"}}


def record(work, peer, seconds, **fields):
    sample = [Sample(seconds, seconds)]
    return Record("family", work, fields.pop("schedule", "hand"), peer, 1, ours=sample,
                  theirs=sample, flop=1e9, bytes=1e6, **fields)  # fmt: skip


def results(*records):
    return Results(MACHINE, {1: Peaks(1, {"float32": 1e11}, {"L1": 1e11}, {"L1": 1})}, [*records])


def test_a_new_measurement_replaces_the_old_one():
    found = results(record("a", "numpy", 1.0), record("b", "numpy", 1.0))
    found.add([record("a", "numpy", 2.0), record("a", "torch", 3.0)])
    assert [(r.work, r.peer, r.seconds) for r in found.records] == [
        ("a", "numpy", 2.0), ("b", "numpy", 1.0), ("a", "torch", 3.0)
    ]  # fmt: skip
    found.add([record("d", "numpy", 1.0, schedule="default"), record("d", "numpy", 1.0)])
    found.sort(["d", "a", "b"])
    assert [r.work + r.schedule[0] + r.peer[0] for r in found.records] == [
        "dhn", "ddn", "ahn", "aht", "bhn"
    ]  # fmt: skip


def test_an_aim_is_met_if_it_is_beside_all_peers_that_count():
    def aimed(work, peer, aim, **fields):
        return record(work, peer, 1.0, aim=aim, **fields)

    found = results(
        aimed("a", "numpy", 1.0), aimed("a", "torch", 0.9), aimed("a", "onnxruntime", None),
        aimed("b", "numpy", 1.0), aimed("b", "torch", 1.1),
        aimed("b", "numpy", 0.5, schedule="default"),
        aimed("c", "numpy", 1.0), aimed("c", "torch", 1.0, problem="torch is not installed"),
    )  # fmt: skip
    found.records[-1].theirs = []
    assert found.summary() == "aims: 2 met, 1 missed, 1 unknown"


def test_what_is_saved_can_be_loaded(tmp_path):
    before = results(record("product", "numpy", 0.5))
    files = before.save(tmp_path / "new")
    assert {path.name for path in files} == {
        "results.json", "table.txt", "roofline-1-thread.svg"
    }  # fmt: skip
    assert Results.load(tmp_path / "new") == before
    assert json.loads(files[0].read_text())["records"][0]["derived"]["ratio"] == 1.0
    table = (tmp_path / "new" / "table.txt").read_text()
    assert "a processor; numpy 2" in table
    assert "product" in table
