"""Lowering: from scheduled blocks to the loops, vectors and registers that backends accept."""

from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.pipeline import PassRecord, lower, run_passes
