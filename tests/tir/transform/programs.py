"""Small programs for the tests of lowering, built node by node."""

from __future__ import annotations

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import HANDLE, INT32
from tilewright.ir.rewrite import walk
from tilewright.tir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    BufferStore,
    For,
    ForKind,
    IterType,
    IterVar,
    PrimFunc,
    Range,
    Var,
    decl_buffer,
)

TRUE = const(True)


def int_var(name):
    """A new int32 variable."""
    return Var(name, INT32)


def iterator(name, extent, *, reduce=False):
    """A block iterator over `extent` values."""
    kind = IterType.COMM_REDUCE if reduce else IterType.DATA_PAR
    return IterVar(Range.from_extent(extent), int_var(name), kind)


def loop_nest(loops, body, kinds=None):
    """Nested loops, outermost first: pairs of variable and extent."""
    for var, extent in reversed(loops):
        kind = (kinds or {}).get(var.name, ForKind.SERIAL)
        body = For(var, const(0, var.dtype), as_expr(extent), kind, body)
    return body


def point(buffer, *indices):
    """The region of one element."""
    return BufferRegion(buffer, tuple(Range.from_min_extent(as_expr(i), const(1)) for i in indices))


def function(buffers, body, allocated=(), noalias=True, scalars=()):
    """A function over `buffers` and `scalars` with a root block that allocates `allocated`."""
    handles = tuple(Var(f"{b.name}_handle", HANDLE) for b in buffers)
    root = Block((), (), (), "root", body, alloc_buffers=tuple(allocated))
    attrs = {"tir.noalias": const(True)} if noalias else {}
    buffer_map = dict(zip(handles, buffers, strict=True))
    return PrimFunc((*handles, *scalars), BlockRealize((), TRUE, root), None, buffer_map, attrs)


def matmul_block(A, B, C, M, N, K):
    """The block `C[m, n] += A[m, k] * B[k, n]` with its init."""
    vm, vn, vk = iterator("vm", M), iterator("vn", N), iterator("vk", K, reduce=True)
    m, n, k = vm.var, vn.var, vk.var
    return Block(
        (vm, vn, vk),
        (point(A, m, k), point(B, k, n)),
        (point(C, m, n),),
        "C",
        BufferStore(C, C[m, n] + A[m, k] * B[k, n], (m, n)),
        init=BufferStore(C, const(0.0), (m, n)),
    )


def matmul(M, N, K, tiles=None, order=None, kinds=None):
    """A matrix product; with tiles (tm, tn, tk) every loop is split in two.

    `order` lists loops by name: `mnk` letters, or with tiles `m0`, `m1`, ...
    """
    A, B = decl_buffer((M, K), name="A"), decl_buffer((K, N), name="B")
    C = decl_buffer((M, N), name="C")
    block = matmul_block(A, B, C, M, N, K)
    extents, values, predicate = {}, [], TRUE
    for position, (name, extent) in enumerate(zip("mnk", (M, N, K), strict=True)):
        if tiles is None:
            var = int_var(name)
            extents[var] = extent
            values.append(var)
            continue
        tile = tiles[position]
        outer, inner = int_var(f"{name}0"), int_var(f"{name}1")
        extents |= {outer: -(-extent // tile), inner: tile}
        values.append(outer * tile + inner)
        if extent % tile:
            predicate = logical_and(predicate, outer * tile + inner < extent)
    by_name = {var.name: var for var in extents}
    loops = [(by_name[name], extents[by_name[name]]) for name in order or list(by_name)]
    realize = BlockRealize(tuple(values), predicate, block)
    return function((A, B, C), loop_nest(loops, realize, kinds))


def of_kind(root, kind):
    """All nodes of a class below `root`, parents first."""
    return [node for node in walk(root) if isinstance(node, kind)]


def loop_names(root):
    """The names of all loop variables, parents first."""
    return [loop.loop_var.name for loop in of_kind(root, For)]


def accesses(root, name):
    """All loads and stores of the buffers called `name`."""
    return [n for n in of_kind(root, (BufferLoad, BufferStore)) if n.buffer.name == name]
