"""Sums of products in which every operand is used again and again: products of matrices, and
convolutions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.contraction_cycles import cycles
from tilewright.schedule_rules.contraction_plan import (
    ENOUGH_FILLED,
    ENOUGH_REUSE,
    LEAST_REUSE,
    Plan,
)
from tilewright.schedule_rules.contraction_steps import tile_contraction
from tilewright.schedule_rules.dot_products import (
    BFLOATS,
    find_dot_products,
    grouped_axis,
    is_last_axis,
    only_axis,
)
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.multiply_along_rows import multiply_along_rows
from tilewright.schedule_rules.near_panels import (
    keeps_blocks,
    may_prefer_blocks,
    prefers_near_panels,
    stays_as_it_is,
)
from tilewright.schedule_rules.nest import Nest
from tilewright.schedule_rules.operands import (
    MANY_ROWS,
    MOST_FEW_ROWS,
    Contraction,
    constant_memory,
    contraction_in,
    find_single_row,
)
from tilewright.schedule_rules.reduce_along_columns import reduce_along_columns
from tilewright.schedule_rules.reduce_along_rows import reduce_along_rows
from tilewright.schedule_rules.row_products import RowProducts, find_row_products
from tilewright.schedule_rules.self_products import apart, multiplies_itself
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.schedule_rules.unfolded_windows import find_unfolded, unfolded_structure
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.tile_registers import COLUMNS
from tilewright.tir.transform.machine import Machine

CLEARLY: Final = 0.95
"""Estimated time of other instructions, as a part of that of products of tiles, below which these
are not used."""

LOADED: Final = 0.85
"""The same of vectors along the sum, where instructions are ordinary multiply-adds: tiles of few
vectors are limited by loads, for which estimates are high where a machine has two in a cycle."""

READY: Final = 0.9
"""How much less time another way must take than one whose panels are constants."""


def tile_products(
    sch: Schedule,
    nest: Nest,
    machine: Machine,
    epilogue: Sequence[BlockRV] = (),
    most: float = math.inf,
) -> Sequence[Structure]:
    """Tiles sums of products for registers and caches.

    These are products of matrices (one or many, of any operand transposed) and convolutions: blocks
    in which one operand does not depend on the rows of the result, and another not on its columns.
    ::

        for columns:                    # a block of panels, which stays in the cache of a core
            for sums:                   # a block of the sum
                copy panels of the operand with columns
                for rows, panel:
                    for step:           # fetches what later steps read
                        a tile of rows x vectors in registers: unrolled steps, rows and vectors
                    the element-wise consumers of the tile

    Where few rows use columns from far away, nothing is packed, and all rows use a block of a panel
    before the next panel: it stays in the first cache meanwhile. Where few rows are multiplied by
    rows, vectors run along the sum; see `multiply_along_rows`.

    The structures differ in which iterators are columns (one, several merged ones such as the
    pixels of an image, or the rows of the result), and in which operands are packed. Left to the
    search: the tile, how many panels are packed at once, the steps of a block of the sum, how many
    steps are unrolled, and how far ahead operands are asked for.

    Args:
        epilogue: element-wise blocks that read the result, for each tile of it.
        most: maximum estimated time of a way, as a multiple of that of the best one.
    """
    found, constants = contraction_in(sch, nest.accesses), constant_memory(sch)
    if found is not None and multiplies_itself(found):
        return apart(tile_products, sch, nest, machine, epilogue, most)
    if found is None:
        single = find_single_row(nest.accesses)
        return [] if single is None else _of_single_row(single, nest, machine, constants, epilogue)
    ways = plans(found, machine, nest.outer, constants)
    if most < math.inf and ways:
        times = [cycles(plan, constants) for plan in ways]
        limit = most * min(times)
        ways = [ways[0], *(p for p, t in zip(ways[1:], times[1:], strict=True) if t <= limit)]
    tiled: list[Structure] = [partial(tile_contraction, plan, epilogue) for plan in ways]
    other = cycles(ways[0], constants) if ways else math.inf
    unfolded = find_unfolded(plans, sch, nest, found, machine)
    if unfolded is not None:
        time = cycles(unfolded.plan, unfolded.constants)
        faster = (n for n, plan in enumerate(ways) if cycles(plan, constants) > time)
        number = next(faster, len(ways))
        if time <= most * other:
            tiled.insert(number, unfolded_structure(plans, found, machine, epilogue))
        if number == 0:
            return tiled
    along = find_row_products(found, machine, nest.outer, constants)
    if along is not None:
        structure = partial(multiply_along_rows, along, epilogue)
        if prefers_vectors_along(along, ways, constants):
            return [structure, *tiled]
        tiled += [structure] if along.cycles() <= most * other else []
    inner = nest.innermost()
    if inner is None or not (ways and reads_matrix_once(ways[0], found, constants)):
        return tiled
    rule = reduce_along_rows if nest.reduces_along(inner) else reduce_along_columns
    reduced = [partial(_reduce, way, machine, epilogue) for way in rule(sch, nest, machine)]
    return [*reduced[:1], *tiled]


def _of_single_row(
    single: Contraction,
    nest: Nest,
    machine: Machine,
    constants: frozenset[Var],
    epilogue: Sequence[BlockRV],
) -> Sequence[Structure]:
    """The structures of a single row by instructions that add several products at once; without
    these, a reduction is as fast as memory."""
    along = find_row_products(single, machine, nest.outer, constants)
    if along is not None and not along.dot.is_multiply_add:
        return [partial(multiply_along_rows, along, epilogue)]
    if single.moving[0].buffer.data not in constants:
        return []
    ways = _dot_product_plans(single, machine, nest.outer, constants)
    ways = [plan for plan in ways if not (plan.transposed or plan.in_tiles)]
    return [partial(tile_contraction, plan, epilogue) for plan in ways]


def prefers_vectors_along(
    along: RowProducts, ways: Sequence[Plan], constants: frozenset[Var]
) -> bool:
    """Whether vectors along the sum take less time than tiles.

    Args:
        ways: plans of tiles, the best one first.
        constants: the memory of operands that are packed when the program is compiled.
    """
    if not ways:
        return True
    part = CLEARLY if ways[0].in_tiles else 1.0
    if along.dot.is_multiply_add:
        part = LOADED
    return along.cycles() < part * cycles(ways[0], constants)


def _reduce(
    structure: Structure, machine: Machine, epilogue: Sequence[BlockRV], sch: Schedule, nest: Nest
) -> None:
    """Schedule a product as a reduction, and then what reads the results."""
    structure(sch, nest)
    for consumer in epilogue:
        apply_rule(vectorize_elements, sch, consumer, machine, nest.outer)


def reads_matrix_once(best: Plan, found: Contraction, constants: frozenset[Var]) -> bool:
    """Whether a few rows are multiplied by a matrix that comes from far away, as it is.

    It is best read in the order of memory then, once for all rows, as for a reduction.

    Args:
        best: the best of the plans for `found`.
        constants: the memory of operands that are packed only once, when the program is compiled.
    """
    if best.dot is not None or best.outer or len(found.moving) != 1 or found.has_windows():
        return False
    if best.reads_blocks:
        return False
    accesses, machine, matrix = found.accesses, best.machine, found.moving[0]
    unknown, lanes = found.few_rows or MANY_ROWS, machine.lanes(accesses.stores[0].buffer.dtype)
    rows = [var for var in accesses.spatial if not matrix.mentions(var)]
    are_few = math.prod(accesses.extent(var, unknown) for var in rows) <= MOST_FEW_ROWS
    is_broad = accesses.extent(found.column) >= MOST_FEW_ROWS * lanes
    if not (are_few and is_broad) or matrix.buffer.data in constants:
        return False
    is_far = accesses.size(matrix, unknown) > machine.own_cache
    return is_far and 1 in (matrix.stride(found.column), matrix.stride(accesses.reduction[-1]))


def plans(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var] = frozenset()
) -> list[Plan]:
    """Ways to tile a contraction, the one that is known to be best first.

    Args:
        outer: how many of the loops around the block are fixed already.
        constants: the memory of operands that are packed only once, when the program is compiled.
    """
    plain = _plain(found, machine, outer)
    dots = _dot_product_plans(found, machine, outer, constants)
    forms = _with_dot_products(dots, _plans_along_columns(plain, constants), constants)
    transposed = transposed_plan(found, machine, outer)
    others = _other_plans(plain, forms)
    packed_rows = _with_packed_rows(plain, [plan for plan in (*forms, *others) if not plan.dot])
    if dots:
        return [*forms, *others, *packed_rows]
    forms, others = [*packed_rows[:1], *forms], [*others, *packed_rows[1:]]
    if transposed is None:
        return [*forms, *others]
    if not forms:
        return [transposed, *others]
    # Panels that are there already come in order, whatever the estimate says about memory.
    is_ready = forms[0].packed and forms[0].found.moving[0].buffer.data in constants
    least = READY if is_ready else 1.0
    # The estimates speak against copying what a cache of the core holds, for which it still pays.
    compared = forms if plain.is_used_often() else forms[:1]
    time = min(cycles(form, constants) for form in compared)
    reads_in_order = not transposed.packed and reads_rows_in_parts(plain)
    if least * time < cycles(transposed, constants) and not reads_in_order:
        return [*forms, transposed, *others]
    return [transposed, *forms, *others]


def reads_rows_in_parts(plain: Plan) -> bool:
    """Whether tiles of a transposed left operand take parts of its lines from far away, or leave
    lanes empty: vectors along its rows read all of it in the order of memory instead."""
    size = plain.found.fixed[0].buffer.dtype.itemsize
    is_large = plain.rows * plain.depth * size > plain.machine.own_cache // 4
    return is_large or plain.leaves_lanes_empty()


def _plain(found: Contraction, machine: Machine, outer: int) -> Plan:
    """The way with the columns of a matrix as they are, which may be the pixels of an image."""
    merged = Plan(found, found.mergeable(), machine, outer, packed=False)
    if merged.has_one_stretch:
        return merged
    return Plan(found, (found.column,), machine, outer, packed=False)


def _with_dot_products(
    dots: list[Plan], others: list[Plan], constants: frozenset[Var]
) -> list[Plan]:
    """Dot products, then other ways; but in reverse where bfloat16, converted to float32 as it is
    read, takes less time than copying it for a few rows."""
    is_converted = dots and dots[0].dot is not None and dots[0].dot.kind is BFLOATS and others
    if is_converted and cycles(others[0], constants) < cycles(dots[0], constants):
        return [*others, *dots]
    return [*dots, *others]


def _dot_product_plans(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var]
) -> list[Plan]:
    """Ways by instructions that add several products at once, if the machine has them.

    The operand with columns is packed, groups of steps side by side. Where the rows of the result
    are its columns, they need not fill a vector: without, each product takes a lane of the sums.
    """
    plans = []
    for form, transposed in _forms(found):
        if not form.fixed or form.has_windows():
            continue
        for dot in find_dot_products(form, machine):
            if transposed and form.row is not found.column and not dot.kind.in_tiles:
                continue
            free = form.moving[0].buffer.data in constants
            plan = Plan(
                form, (form.column,), machine, outer, packed=True, transposed=transposed, dot=dot,
                is_ready=free,
            )  # fmt: skip
            if plan.multiplies_matrices and not _has_matrices_of_rows(plan):
                continue
            if plan.multiplies_matrices and transposed and not plan.in_tiles:
                continue
            is_worth_packing = free or plan.uses >= plan.enough_uses
            is_grouped = is_last_axis(form.fixed[0], dot.step)
            may_be_few = transposed and (is_grouped or not plan.in_tiles)
            whole = COLUMNS // (1 + transposed) if plan.in_tiles else plan.lanes
            least = plan.lanes // (dot.size + 1) if may_be_few else whole
            # Otherwise the windows would be copied with the pixels that strides skip.
            is_wide = plan.width_of_all >= least or form.is_unfolded
            if plan.may_pack(free) and is_worth_packing and is_wide:
                plans.append(plan)
    return _in_order(plans, constants)


def _forms(found: Contraction) -> Iterator[tuple[Contraction, bool]]:
    """A contraction and its transposed forms; whether each is transposed.

    The rows of windows are not filled up: those of another dimension of an image may be a multiple
    of a tile's.
    """
    transposed = found.transposed()
    yield found, False
    yield transposed, True
    if any(map(transposed.is_windowed, transposed.fixed)):
        for var in transposed.other_rows():
            if found.accesses.extents[var] is not None:
                yield transposed.with_row(var), True


def _in_order(plans: Sequence[Plan], constants: frozenset[Var]) -> list[Plan]:
    """The plans with those in tile registers first, unless the best of the others clearly takes
    less time; copying is a large part of both."""
    in_tiles = sorted((p for p in plans if p.in_tiles), key=lambda plan: cycles(plan, constants))
    others = [plan for plan in plans if not plan.in_tiles]
    if (
        in_tiles
        and others
        and CLEARLY * cycles(in_tiles[0], constants) > cycles(others[0], constants)
    ):
        return [*others, *in_tiles]
    return [*in_tiles, *_with_fewer_copies(others, constants)]


def _with_fewer_copies(plans: list[Plan], constants: frozenset[Var]) -> list[Plan]:
    """The plans, but the best one of few rows that are packed instead of a large matrix comes
    first, where groups of that are copied one by one and this takes longer."""
    first = plans[0] if plans else None
    if first is None or first.transposed or first.multiplies_matrices or not first.has_groups():
        return plans
    other = next((p for p in plans if p.transposed and not p.multiplies_matrices), None)
    if other is None or cycles(other, constants) >= cycles(first, constants):
        return plans
    return [other, *(plan for plan in plans if plan is not other)]


def _has_matrices_of_rows(plan: Plan) -> bool:
    """Whether there are rows enough for instructions of several, each next to the one before. Tile
    registers take rows at any distance, and fewer of them."""
    found, dot = plan.found, plan.dot
    if dot is None:
        return False
    extent = found.accesses.extents[found.row]
    axis = only_axis if plan.in_tiles else grouped_axis
    rows, steps = axis(found.fixed[0], found.row), grouped_axis(found.fixed[0], dot.step)
    has_enough = plan.in_tiles or (extent is not None and extent >= dot.kind.rows)
    return has_enough and rows is not None and rows != steps


def _plans_along_columns(plain: Plan, constants: frozenset[Var]) -> list[Plan]:
    """Ways whose vectors run along what is contiguous in the result.

    Args:
        plain: the one of which nothing is packed, with a single column, or with several that are
            like one.
    """
    found, machine, outer, single = plain.found, plain.machine, plain.outer, plain.columns
    merged, forms = found.mergeable(), []
    if len(merged) > len(single) and found.fills_vectors(merged, plain.lanes):
        forms.append(Plan(found, merged, machine, outer, packed=False))
    free = found.moving[0].buffer.data in constants
    if not found.is_contiguous(single) and not (free or plain.reuse >= LEAST_REUSE):
        return forms
    if plain.may_pack(free):
        least = MOST_FEW_ROWS + 1 if plain.is_in_memory() else ENOUGH_REUSE
        is_worth_packing = free or plain.reuse >= least
        if len(merged) > len(single) and is_worth_packing and plain.leaves_lanes_empty():
            forms.append(Plan(found, merged, machine, outer, packed=True))
        is_large = plain.exceeds_cache() or plain.is_used_often()
        gains = free or (is_large and not stays_as_it_is(plain)) or plain.converts_columns()
        if not found.is_contiguous(single) or (
            is_worth_packing and gains and not plain.is_narrow()
        ):
            near = not free and prefers_near_panels(plain)
            forms.append(Plan(found, single, machine, outer, packed=True, near_panels=near))
    if not free and len(merged) == len(single) and may_prefer_blocks(plain):
        blocks = Plan(found, single, machine, outer, packed=False, near_panels=True)
        if keeps_blocks(blocks):
            return [blocks, *forms, plain]
    is_faster = (
        forms and found.skips_columns() and cycles(plain, constants) < cycles(forms[0], constants)
    )
    return [plain, *forms] if is_faster else [*forms, plain]


def _other_plans(plain: Plan, forms: Sequence[Plan]) -> list[Plan]:
    """Ways that the estimates speak against, but which are the fastest now and then."""
    found, machine, outer, single = plain.found, plain.machine, plain.outer, plain.columns
    merged, others = found.mergeable(), []
    if plain.may_pack():
        known = {(len(plan.columns) > len(single), plan.packed) for plan in forms}
        size = plain.columns_bytes
        if len(merged) > len(single) and (True, True) not in known and size <= machine.own_cache:
            others.append(Plan(found, merged, machine, outer, packed=True))
        if (False, True) not in known and size > machine.own_cache // 4:
            others.append(Plan(found, single, machine, outer, packed=True))
    return others


def _with_packed_rows(plain: Plan, plans: Sequence[Plan]) -> list[Plan]:
    """Ways that copy the rows of a tile side by side, too, where these are from many places: 4 to
    35 % faster for products with a transposed left operand of 512 to 2048 steps."""
    if plain.outer or not plain.scatters_rows():
        return []
    return [
        Plan(plain.found, plan.columns, plain.machine, 0, packed=plan.packed, packs_rows=True)
        for plan in plans
        if len(plan.columns) == len(plain.columns) and not plan.reads_blocks
    ]


def transposed_plan(found: Contraction, machine: Machine, outer: int) -> Plan | None:
    """The way whose vectors run along another dimension than the rows of the result.

    In a convolution the results along a row of the image need vectors that begin at each element of
    it, few of them where images are small, and with strides every other element. The filters of one
    place are another vector: their weights are packed into panels, and elements of the image are
    broadcast. In a product of a few rows with a large matrix of weights, the rows are packed, and
    the weights are read once and in order. The results of a tile are collected, and transposed when
    they are written.

    Returns:
        The plan, if it is possible and reads what it broadcasts in the order of memory.
    """
    swapped = found.transposed()
    lanes = machine.lanes(found.accesses.stores[0].buffer.dtype)
    columns = found.accesses.extents[swapped.column]
    if (
        len(swapped.moving) != 1
        or not swapped.fixed
        or found.accesses.extents[found.column] is None
    ):
        return None
    if (
        swapped.moving[0].mentions(swapped.row)
        or columns is None
        or columns < ENOUGH_FILLED * lanes
    ):
        return None
    is_converted = any(load in found.accesses.converted for load in swapped.moving)
    is_ordered = swapped.is_contiguous((swapped.column,)) and not is_converted
    plan = Plan(swapped, (swapped.column,), machine, outer, packed=not is_ordered, transposed=True)
    if (plan.packed and plan.reuse < ENOUGH_REUSE) or any(map(plan.is_far, swapped.fixed)):
        return None
    return plan
