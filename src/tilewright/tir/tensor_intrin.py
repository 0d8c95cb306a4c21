"""Tensor intrinsics: a computation in plain loops, and a better implementation of it."""

from __future__ import annotations

from typing import ClassVar

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError
from tilewright.providers import provider
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize


class TensorIntrin:
    """A description of a computation and an implementation of it, for `Schedule.tensorize`.

    Both are functions of the same buffers whose body is a block. The description says what is
    computed by a nest of loops around a block; the implementation does the same in another way,
    by calls of intrinsics or other loops.

    That both compute the same is what the caller promises; `register` can check it on examples.

    Args:
        desc: the description.
        impl: the implementation. Its buffers may have symbolic strides and offsets.
    """

    _registered: ClassVar[dict[str, TensorIntrin]] = {}

    def __init__(self, desc: PrimFunc, impl: PrimFunc) -> None:
        for role, func in (("description", desc), ("implementation", impl)):
            _check_form(role, func)
        _check_same_buffers(desc, impl)
        _check_regions(desc, impl)
        self.desc = desc
        self.impl = impl

    @staticmethod
    def register(
        name: str,
        desc: PrimFunc,
        impl: PrimFunc,
        override: bool = False,
        verify: bool = False,
    ) -> TensorIntrin:
        """Make an intrinsic known by a name.

        Args:
            name: the name.
            desc: what it computes, in plain loops.
            impl: how it does that.
            override: whether it may replace one of the same name.
            verify: whether to run both in the reference interpreter on random data and compare the
                results. Off by default, as an implementation may call what only the target has.

        Raises:
            ArgumentValueError: for functions that are not the description and implementation of one
                computation, or a name that is taken.
        """
        if not isinstance(name, str):
            raise ArgumentError(f"TensorIntrin.register: the name is a string, got {name!r}")
        if name in TensorIntrin._registered and not override:
            raise ArgumentValueError(
                f"TensorIntrin.register: there is an intrinsic {name!r} already; give "
                "override=True to replace it"
            )
        intrinsic = TensorIntrin(desc, impl)
        if verify:
            from tilewright.tir.interpreter.program import first_difference

            difference = first_difference(desc, impl)
            if difference is not None:
                raise ArgumentValueError(
                    f"TensorIntrin.register: {name!r}: the implementation differs from the "
                    f"description: {difference}"
                )
        TensorIntrin._registered[name] = intrinsic
        return intrinsic

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of that name: a registered one, or one that comes with Tilewright.

        Args:
            name: the name.
            allow_missing: whether to return None where there is none, instead of raising.

        Raises:
            UnknownNameError: if there is none.
        """
        found = TensorIntrin._registered.get(name)
        if found is None:
            found = provider("tensor intrinsics").find(name)
            if found is not None:
                TensorIntrin._registered[name] = found
        if found is None and not allow_missing:
            known = ", ".join(sorted(TensorIntrin._registered)) or "none"
            raise UnknownNameError(
                f"there is no tensor intrinsic {name!r}; those that are registered: {known}"
            )
        return found


def intrinsic_block(func: PrimFunc) -> Block:
    """The block that is the body of a description or an implementation."""
    assert isinstance(func.body, BlockRealize)
    return func.body.block


def intrinsic_buffers(func: PrimFunc) -> list[Buffer]:
    """The buffers of the parameters, in order."""
    return [func.buffer_map[param] for param in func.params]


def _check_form(role: str, func: PrimFunc) -> None:
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"TensorIntrin: the {role} is a PrimFunc, got {func!r}")
    verify_well_formed(func)
    if not isinstance(func.body, BlockRealize) or func.body.block.iter_vars:
        raise ArgumentValueError(f"TensorIntrin: the body of the {role} is not a block")
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None or not buffer.has_static_shape():
            raise ArgumentValueError(
                f"TensorIntrin: parameter {param.name} of the {role} is not a buffer of constant "
                "shape"
            )


def _check_same_buffers(desc: PrimFunc, impl: PrimFunc) -> None:
    mine, others = intrinsic_buffers(desc), intrinsic_buffers(impl)
    if len(mine) != len(others):
        raise ArgumentValueError(
            f"TensorIntrin: the description has {len(mine)} buffers, the implementation "
            f"{len(others)}"
        )
    for a, b in zip(mine, others, strict=True):
        if _signature(a) != _signature(b):
            raise ArgumentValueError(
                f"TensorIntrin: {a.name} of the description is {_text(a)}, but {b.name} of the "
                f"implementation is {_text(b)}"
            )


def _signature(buffer: Buffer) -> tuple[object, ...]:
    return buffer.dtype, tuple(extent.value for extent in buffer.shape), buffer.scope()  # type: ignore[attr-defined]


def _text(buffer: Buffer) -> str:
    shape = ", ".join(map(str, buffer.shape))
    return f"{buffer.dtype!s} of shape ({shape}) in {buffer.scope()} memory"


def _check_regions(desc: PrimFunc, impl: PrimFunc) -> None:
    """The implementation must access nothing that the description does not."""
    mine, others = _regions(intrinsic_block(desc)), _regions(intrinsic_block(impl))
    pairs = dict(zip(intrinsic_buffers(impl), intrinsic_buffers(desc), strict=True))
    for what, own, theirs in (
        ("reads", (*mine[0], *mine[1]), others[0]),
        ("writes", mine[1], others[1]),
    ):
        for region in theirs:
            buffer = pairs[region.buffer]
            if not any(other.buffer is buffer and _contains(other, region) for other in own):
                raise ArgumentValueError(
                    f"TensorIntrin: the implementation {what} {region!r}, which is more than the "
                    "description does"
                )
    if {pairs[region.buffer] for region in others[1]} != {r.buffer for r in mine[1]}:
        raise ArgumentValueError(
            "TensorIntrin: the implementation does not write all that the description writes"
        )


def _regions(block: Block) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """What a block reads and writes: what it states, or if it states nothing what it does."""
    if block.reads or block.writes:
        return block.reads, block.writes
    return infer_block_regions(block)


def _contains(outer: BufferRegion, inner: BufferRegion) -> bool:
    prove = Analyzer().can_prove
    return all(
        prove(a.min <= b.min) and prove(b.min + b.extent <= a.min + a.extent)
        for a, b in zip(outer.region, inner.region, strict=True)
    )
