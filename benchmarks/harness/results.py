"""A run of the suite: the machine, its peaks and the records, in files."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.harness import cpu
from benchmarks.harness.pairs import environment
from benchmarks.harness.record import Record
from benchmarks.harness.roofline import as_svg
from benchmarks.harness.table import as_table
from tilewright.runtime.peaks import Peaks
from tilewright.target.cpu import processor_name

PACKAGES: Final = ("numpy", "torch", "onnxruntime", "apache-tvm", "llvmlite")
BUSY: Final = 0.5
"""Other programs that run on the average, from which on figures are worth less."""
JSON, TEXT = "results.json", "table.txt"


@dataclass
class Results:
    """What a run found.

    Attributes:
        machine: the processor, the system and the versions of the packages.
        peaks: by number of threads.
        records: in the order of the suite.
    """

    machine: dict[str, Any]
    peaks: dict[int, Peaks] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def add(self, records: Iterable[Record]) -> None:
        """Append records; one about the same as an earlier one takes its place."""
        places = {record.key: place for place, record in enumerate(self.records)}
        for record in records:
            if record.key in places:
                self.records[places[record.key]] = record
            else:
                self.records.append(record)

    def sort(self, order: list[str]) -> None:
        """Bring the works into the order of `order`; those of a work are kept as they are."""
        place = {name: position for position, name in enumerate(order)}
        self.records.sort(
            key=lambda r: (place.get(r.work, len(order)), r.threads, r.schedule_order)
        )

    def save(self, folder: Path) -> list[Path]:
        """Write everything; gives the files."""
        folder.mkdir(parents=True, exist_ok=True)
        contents = {JSON: json.dumps(self.as_dictionary(), indent=1), TEXT: self.text()}
        for threads, peaks in self.peaks.items():
            svg = as_svg([r for r in self.records if r.threads == threads], peaks, self.title)
            if svg:
                contents[f"roofline-{threads}-thread{'s' if threads > 1 else ''}.svg"] = svg
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
        return [folder / name for name in contents]

    @staticmethod
    def load(folder: Path) -> Results:
        """The inverse of `save`.

        Raises:
            OSError: if there is nothing in the folder.
        """
        entry = json.loads((folder / JSON).read_text(encoding="utf-8"))
        return Results(
            entry["machine"],
            {int(threads): Peaks(**peaks) for threads, peaks in entry["peaks"].items()},
            [Record.from_dictionary(record) for record in entry["records"]],
        )

    def as_dictionary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "machine": self.machine,
            "peaks": {threads: asdict(peaks) for threads, peaks in self.peaks.items()},
            "records": [record.as_dictionary() for record in self.records],
        }

    def summary(self) -> str:
        """How many aims are met: an aim is that of a work under one schedule, on some threads."""
        verdicts: dict[tuple[str, str, int], list[bool | None]] = {}
        for record in self.records:
            if record.aim is not None:
                key = record.work, record.schedule, record.threads
                verdicts.setdefault(key, []).append(record.reached)
        missed = sum(False in reached for reached in verdicts.values())
        met = sum(all(reached) for reached in verdicts.values())
        unknown = len(verdicts) - missed - met
        return f"aims: {met} met, {missed} missed, {unknown} unknown"

    def text(self) -> str:
        """The table in characters alone."""
        console = Console(file=StringIO(), width=200, no_color=True)
        console.print(as_table(self.records, self.peaks, self.title))
        console.print(self.summary())
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    @property
    def title(self) -> str:
        """What was measured where."""
        versions = ", ".join(f"{name} {v}" for name, v in self.machine["packages"].items())
        load = self.machine.get("load", 0.0)
        busy = f"; other programs kept {load:.1f} cores busy" if load > BUSY else ""
        return f"{self.machine['processor']}; {versions}{busy}"


def describe_machine() -> dict[str, Any]:
    """Of this process."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": processor_name() + (f" as {cpu.named()}" if cpu.named() else ""),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": platform.platform(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "python": platform.python_version(),
        "packages": versions,
    }


def measure_peaks(threads: int) -> Peaks:
    """In a process of its own."""
    text = subprocess.check_output(
        [sys.executable, "-m", "tilewright.runtime.peaks", str(threads), str(cpu.target())],
        env=environment(threads), text=True,
    )  # fmt: skip
    return Peaks(**json.loads(text))
