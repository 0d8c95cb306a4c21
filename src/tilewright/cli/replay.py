"""`tilewright replay`: the best schedule of a program, from records."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tilewright.cli.program_file import METAVAR, load_program
from tilewright.cli.records import HELP, open_records
from tilewright.cli.records import METAVAR as RECORDS
from tilewright.target import Target
from tilewright.tune.integration import find_schedules


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "replay",
        help="apply the best schedule of the records to a program",
        description="Apply the best schedule of the records to a program, and print the program, "
        "or build it.",
    )
    parser.add_argument("program", metavar=METAVAR, help="the program, see `tilewright --help`")
    parser.add_argument("--work-dir", required=True, metavar=RECORDS, help=HELP)
    parser.add_argument("--target", default="llvm", help="what for (default: llvm)")
    parser.add_argument("--trace", action="store_true", help="print the steps, not the program")
    parser.add_argument("--export", metavar="FILE", help="build it to a shared library")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print or build the program; exit code 1 if no function is among the records."""
    program, target = load_program(options.program), Target(options.target)
    matches = find_schedules(open_records(options.work_dir), program, target)
    print(f"tilewright: {matches}", file=sys.stderr)
    if not matches.matched:
        return 1
    if options.export:
        from tilewright.driver.build_module import build

        build(matches.schedule.mod, target=target).export_library(options.export)
    elif options.trace:
        print(matches.schedule.trace)
    else:
        print(matches.schedule.mod.script())
    return 0
