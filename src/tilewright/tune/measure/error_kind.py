"""What can go wrong with a candidate."""

from __future__ import annotations

from typing import Final, Literal, get_args

ErrorKind = Literal[
    "build",  # it cannot be compiled
    "build-timeout",  # compiling takes too long
    "crash",  # the process that built or ran it died
    "timeout",  # running takes too long
    "illegal-instruction",  # it has instructions that the machine lacks
    "wrong-result",  # it computes other numbers than the program that was to be tuned
    "run",  # it reported an error while it ran, or cannot be loaded
    "illegal-schedule",  # a step of its schedule was refused
    "cancelled",  # nobody wanted to know any more
]

ERROR_KINDS: Final[tuple[ErrorKind, ...]] = get_args(ErrorKind)
