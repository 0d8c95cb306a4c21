"""The schedule primitives, one file each; importing this package registers them."""

from tilewright.tir.schedule.primitives import (
    add_unit_loop,
    annotate,
    block_relations,
    cache_read,
    cache_write,
    compute_inline,
    enter_postproc,
    fuse,
    get_block,
    get_loops,
    loop_partition,
    reorder,
    reorder_block_iter_var,
    reverse_compute_inline,
    sample_categorical,
    sample_partitioned_tile,
    sample_perfect_tile,
    set_scope,
    split,
)
