"""The schedule primitives, one file each; importing this package registers them."""

from tilewright.tir.schedule.primitives import (
    block_relations,
    fuse,
    get_block,
    get_loops,
    reorder,
    split,
)
