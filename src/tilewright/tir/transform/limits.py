"""What lowering does by itself up to a limit.

Default schedules, the tuner's rules and estimates of time count on it, so it is said only here.
"""

from __future__ import annotations

from typing import Final

RESERVED_REGISTERS: Final = 4
"""Vector registers that are left for operands; all others may hold accumulators."""

VECTORS_PER_ITERATION: Final = 4
"""Vectors per iteration of a loop that is vectorised without being told, which hides the cost of
the loop."""

HEAVY_VECTORS_PER_ITERATION: Final = 2
"""The same for bodies that call functions, which are long chains of operations: two overlap."""

MOST_JAMMED_ROWS: Final = 16
"""Maximum number of rows that are reduced side by side without being told: more hide no more
latency, and only make the code longer."""

LINE_BYTES: Final = 64
"""Bytes that come into a cache together."""
