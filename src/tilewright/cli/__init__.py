"""The command line: `tilewright tune|replay|report|records|compile|run|profile`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import tilewright
from tilewright.cli import models, records, replay, report, tune
from tilewright.error import TVMError

FAILED: Final = 1
"""The exit code of what could not be done."""
MISUSED: Final = 2
"""The exit code of a wrong command line, as of most programs."""
INTERRUPTED: Final = 130
"""The exit code of Ctrl-C."""

_EXAMPLES: Final = """\
examples:
  tilewright tune matmul.py --target "llvm -num-cores=1" --trials 64 --work-dir tuned
  tilewright tune models.py:dense --seconds 90 --work-dir tuned --report
  tilewright replay matmul.py --work-dir tuned
  tilewright report tuned -o report.html
  tilewright records best tuned
  tilewright records merge laptop server -o both
  tilewright compile model.onnx -o model.so --tune 5min
  tilewright run model.so --input image.npy
  tilewright profile model.onnx

FILE is a Python file, which is run, with tensor programs (functions with @T.prim_func, modules with
@I.ir_module, or functions without parameters that return one) among its global names; or a file of
workloads, database_workload.json. FILE:NAME picks one of several.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: of the command line, without the name of the program; by default those of this
            process.

    Returns:
        the exit code: 0; 1 if it could not be done; 2 if the command line is wrong; 130 for Ctrl-C.
    """
    try:
        options = _parser().parse_args(arguments)
        _show_log(options.verbose)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return options.run(options)
    except _UsageError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt:
        print("tilewright: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing may be written at exit, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except TVMError as error:
        print(f"tilewright: {_one_line(error)}", file=sys.stderr)
        return FAILED


class _UsageError(Exception):
    """A command line that cannot be understood."""


class _Parser(argparse.ArgumentParser):
    """A parser of the command line, or of a command in it: all of them know ``--verbose``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_argument(
            "-v", "--verbose", action="store_true", default=argparse.SUPPRESS,
            help="log what happens to stderr",
        )  # fmt: skip

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see `{self.prog} --help`)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tilewright",
        description="Tune tensor programs, and compile models.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {tilewright.__version__}")
    parser.set_defaults(verbose=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (tune, replay, report, records, models):
        command.add_to(commands)
    return parser


def _show_warning(message: Warning | str, *_: Any) -> None:
    """Write a warning without the line of the package that it comes from."""
    print(f"tilewright: {message}", file=sys.stderr)


def _show_log(verbose: bool) -> None:
    """Let warnings of the log come to stderr, as lines of this program."""
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler()
    handler.setLevel(level)  # parts of the tuner log more than this, to files
    logging.basicConfig(format="tilewright: %(message)s", handlers=[handler])


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
