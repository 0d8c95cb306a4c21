"""`tilewright tune`: search for the fastest schedule of a program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

from tilewright.cli.program_file import METAVAR, Program, load_program
from tilewright.error import TuningError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tune.database import Database
from tilewright.tune.integration import find_schedules
from tilewright.tune.report import load_phases, write_report
from tilewright.tune.report.quantities import count, seconds

TRIALS: Final = 256
WORK_DIR: Final = "tilewright_tuning"


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "tune",
        help="search for the fastest schedule of a program by measuring",
        description="Search for the fastest schedule of a program by measuring. Records and logs "
        "go to the work directory. Run it again to go on from there: for that many more trials, or "
        "with --up-to for that many in all.",
    )
    parser.add_argument("program", metavar=METAVAR, help="the program, see `tilewright --help`")
    parser.add_argument(
        "--target", default="llvm", help='what for, such as "llvm -num-cores=1" (default: llvm)'
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--trials", type=positive, default=TRIALS, metavar="N",
        help=f"candidates of this run at most (default: {TRIALS})",
    )  # fmt: skip
    amount.add_argument(
        "--up-to", type=positive, metavar="N",
        help="candidates in the work directory at most, those of earlier runs included",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, metavar="S", help="how long it may take")
    parser.add_argument(
        "--work-dir", default=WORK_DIR, metavar="DIR",
        help=f"where records go (default: {WORK_DIR})",
    )  # fmt: skip
    parser.add_argument(
        "--report", nargs="?", const="", metavar="FILE",
        help="write a report in HTML (default: report.html in the work directory)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, help="of all random choices")
    parser.set_defaults(run=run)


def positive(text: str) -> int:
    """A number that is at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {value}")
    return value


def run(options: argparse.Namespace) -> int:
    """Tune, and print the result."""
    from tilewright.meta_schedule import tune_tir

    program = load_program(options.program)
    target = Target(options.target)
    database = Database.create("json", work_dir=options.work_dir)
    known = number_of_trials(database)
    trials = options.trials if options.up_to is None else max(options.up_to - known, 0)
    if trials:
        database = tune_tir(
            program,
            target,
            options.work_dir,
            trials,
            max_seconds=options.seconds,
            seed=options.seed,
        )
    matches = find_schedules(database, program, target)
    if not matches.matched:
        raise TuningError(f"nothing was found: {matches}")
    for name in matches.matched:
        record = database.query_tuning_record(_function(program, name), target)
        if record is not None:
            print(f"{name}: {seconds(record.mean_secs)}")
    total = number_of_trials(database)
    again = count(len(database) - total, "measurement")
    print(
        f"{matches}; {count(total, 'trial')} in {options.work_dir} ({total - known} new), "
        f"and {again} of finalists"
    )
    if options.report is not None:
        path = options.report or Path(options.work_dir) / "report.html"
        phases = load_phases(options.work_dir)
        title = f"Tuning of {options.program}"
        print(f"report: {write_report(path, database, phases=phases, title=title)}")
    return 0


def number_of_trials(database: Database) -> int:
    """Number of measured candidates, without the further measurements of finalists."""
    return sum(not record.supersedes for record in database.get_all_tuning_records())


def _function(program: Program, name: str) -> Program:
    return program[name] if isinstance(program, IRModule) else program
