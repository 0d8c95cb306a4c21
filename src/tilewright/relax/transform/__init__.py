"""Passes over graphs, one file each."""

from tilewright.relax.transform.annotate_tir_op_pattern import AnnotateTIROpPattern
from tilewright.relax.transform.fuse_ops import FuseOps
from tilewright.relax.transform.fuse_tir import FuseTIR
