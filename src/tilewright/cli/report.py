"""`tilewright report`: an HTML file about records."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tilewright.cli.records import HELP, METAVAR, open_records
from tilewright.tune.report import load_phases, write_report


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report",
        help="write a report about a tuning run",
        description="Write a report about a tuning run: one HTML file that needs nothing else.",
    )
    parser.add_argument("records", metavar=METAVAR, help=HELP)
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="(default: report.html)"
    )
    parser.add_argument("--title", help="the headline")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write it."""
    path = Path(options.records)
    title = options.title or f"Tuning in {path.resolve().name}"
    database = open_records(options.records)
    print(write_report(options.output, database, phases=load_phases(path), title=title))
    return 0
