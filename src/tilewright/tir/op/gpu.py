"""Intrinsics of GPU threads, warps and matrix units.

They are opaque to every pass: the backends that know them emit them as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Final

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import HANDLE, INT32, UINT32, DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.op import CallEffectKind, Op, register_op

PARAMETERS: Final = {
    "tvm_warp_shuffle": "mask value warp_id width warp_size",
    "tvm_warp_shuffle_up": "mask value offset width warp_size",
    "tvm_warp_shuffle_down": "mask value offset width warp_size",
    "tvm_load_matrix_sync": "fragment m n k index buffer_ptr stride layout",
    "tvm_store_matrix_sync": "fragment m n k index buffer_ptr stride layout",
    "tvm_fill_fragment": "fragment m n k index value",
    "tvm_mma_sync": "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c",
    "tvm_bmma_sync": "fragment_d index_d fragment_a index_a fragment_b index_b fragment_c index_c",
    "ptx_mma": "dtype shape a_layout b_layout a_dtype b_dtype c_dtype multiplicand_a a_index "
    "multiplicand_b b_index accumulator c_index saturate operator=",
    "ptx_mma_sp": "dtype shape a_layout b_layout a_dtype b_dtype c_dtype multiplicand_a a_index "
    "multiplicand_b b_index accumulator c_index metadata meta_index sparse_selector saturate",
    "ptx_ldmatrix": "dtype trans num type local_ptr local_offset smem_ptr smem_offset",
    "ptx_cp_async": "dtype shared_ptr shared_offset global_ptr global_offset bytes",
    "ptx_cp_async_bulk": "dtype shared_ptr shared_offset global_ptr global_offset bytes barrier_id",
    "ptx_commit_group": "",
    "ptx_wait_group": "num",
    "ptx_cp_async_barrier": "barrier_id",
    "ptx_init_barrier_thread_count": "barrier_id thread_count",
    "ptx_arrive_barrier": "barrier_id",
    "ptx_arrive_barrier_expect_tx": "barrier_id byte_count",
    "ptx_wait_barrier": "barrier_id",
    "create_barriers": "barrier_count",
    "mma_store": "dtype m n dst_ptr src_ptr src_offset dst_stride",
    "mma_fill": "dtype local_size local_ptr offset",
    "make_filled_simdgroup_matrix": "d index value col=8 row=8",
    "simdgroup_load": "d index ptr stride col=8 row=8 transpose_matrix=False",
    "simdgroup_store": "d index ptr stride col=8 row=8 transpose_matrix=False",
    "simdgroup_multiply_accumulate": "d index_d a index_a b index_b c index_c",
}
"""The parameters of each intrinsic; one named ``dtype`` is the dtype of the result.

``name=value`` is optional; an optional parameter without a value is left out of the call.
"""

_OTHERS = ("tvm_storage_sync", "ptx_tile", "tvm_thread_allreduce", "tvm_warp_activemask")
__all__ = [*PARAMETERS, *_OTHERS[:1], *_OTHERS[2:]]  # pyright: ignore[reportUnsupportedDunderAll]

for _name in (*PARAMETERS, *_OTHERS):
    register_op(f"tir.{_name}", CallEffectKind.OPAQUE, vectorizable=False)

_DEFAULTS: Final = {"8": 8, "False": False}


def tvm_storage_sync(storage_scope: str) -> Expr:
    """Wait until all threads of the block (``"shared"``) or warp (``"warp"``) are here."""
    return Call(INT32, Op.get("tir.tvm_storage_sync"), (as_expr(storage_scope),))


def tvm_thread_allreduce(*freduce_args: object) -> Expr:
    """Combine the values of all threads, and give the result to each."""
    return Call(HANDLE, Op.get("tir.tvm_thread_allreduce"), tuple(map(as_expr, freduce_args)))


def tvm_warp_activemask() -> Expr:
    """The threads of the warp that are active, one bit each."""
    return Call(UINT32, Op.get("tir.tvm_warp_activemask"), ())


def _intrinsic(name: str) -> Callable[..., Expr]:
    parameters = [part.partition("=") for part in PARAMETERS[name].split()]
    names = [parameter[0] for parameter in parameters]
    optional = {key: value for key, equals, value in parameters if equals}
    op = Op.get(f"tir.{name}")

    def function(*args: object, **named: object) -> Expr:
        given = _bind(name, names, optional, args, named)
        result = given.pop("dtype", None)
        arguments = tuple(map(as_expr, given.values()))
        if result is not None:
            dtype = DType(result)
        else:
            dtype = as_expr(given["value"]).dtype if "warp_shuffle" in name else HANDLE
        return Call(dtype, op, arguments)

    function.__name__ = function.__qualname__ = name
    kind, empty = Parameter.POSITIONAL_OR_KEYWORD, Parameter.empty
    function.__signature__ = Signature(
        [Parameter(key, kind, default=optional.get(key, empty)) for key in names]
    )
    function.__doc__ = f"The GPU intrinsic ``{name}({', '.join(names)})``."
    return function


def _bind(
    name: str,
    names: list[str],
    optional: dict[str, str],
    args: tuple[object, ...],
    named: dict[str, object],
) -> dict[str, object]:
    """The arguments of a call by name, in the order of the parameters."""
    given: dict[str, object] = {**dict(zip(names, args, strict=False)), **named}
    missing = [key for key in names if key not in given and key not in optional]
    unknown = [key for key in named if key not in names or names.index(key) < len(args)]
    if len(args) > len(names) or missing or unknown:
        raise ArgumentError(f"{name}({', '.join(names)}): missing {missing}, unexpected {unknown}")
    defaults = {key: _DEFAULTS[value] for key, value in optional.items() if value}
    complete = {**defaults, **given}
    return {key: complete[key] for key in names if key in complete}


tvm_warp_shuffle, tvm_warp_shuffle_up, tvm_warp_shuffle_down, tvm_load_matrix_sync, \
    tvm_store_matrix_sync, tvm_fill_fragment, tvm_mma_sync, tvm_bmma_sync, ptx_mma, ptx_mma_sp, \
    ptx_ldmatrix, ptx_cp_async, ptx_cp_async_bulk, ptx_commit_group, ptx_wait_group, \
    ptx_cp_async_barrier, ptx_init_barrier_thread_count, ptx_arrive_barrier, \
    ptx_arrive_barrier_expect_tx, ptx_wait_barrier, create_barriers, mma_store, mma_fill, \
    make_filled_simdgroup_matrix, simdgroup_load, simdgroup_store, \
    simdgroup_multiply_accumulate = map(_intrinsic, PARAMETERS)  # fmt: skip
