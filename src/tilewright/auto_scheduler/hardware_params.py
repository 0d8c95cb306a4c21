"""`HardwareParams`: a description of the machine, as attributes of a target."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.target import Target

_LINE_BYTES: Final = 64
"""The cache line that all estimates of time assume."""

_GPU: Final = {
    "max_shared_memory_per_block": "max_shared_memory_per_block",
    "max_local_memory_per_block": "max_local_memory_per_block",
    "max_threads_per_block": "max_threads_per_block",
    "warp_size": "thread_warp_size",
}
"""The attributes of targets for GPUs, by what programs call them here."""


class HardwareParams:
    """What a machine is like, where its target does not say so.

    A `SearchTask` gives these numbers to its target: `num_cores` is ``-num-cores`` and
    `vector_unit_bytes` is ``-vector-width`` of CPUs; the limits of thread blocks are attributes of
    GPUs of the same names, `warp_size` is ``-thread_warp_size``.

    Args:
        num_cores: number of cores.
        vector_unit_bytes: width of a vector register in bytes.
        cache_line_bytes: size of a cache line; 64 is the only one.
        max_shared_memory_per_block: bytes of memory that a thread block shares.
        max_local_memory_per_block: bytes of memory of the threads of a block.
        max_threads_per_block: number of threads.
        max_vthread_extent: for old programs; virtual threads have no limit of their own.
        warp_size: number of threads that run in step.
        target: the target, whose attributes are taken where a number is not given.
        target_host: for old programs.

    Raises:
        ArgumentValueError: for a number below 1, and another size of cache lines.
    """

    def __init__(
        self,
        num_cores: int | None = None,
        vector_unit_bytes: int | None = None,
        cache_line_bytes: int | None = None,
        max_shared_memory_per_block: int | None = None,
        max_local_memory_per_block: int | None = None,
        max_threads_per_block: int | None = None,
        max_vthread_extent: int | None = None,
        warp_size: int | None = None,
        target: Target | str | None = None,
        target_host: Target | str | None = None,
    ) -> None:
        del target_host
        self.num_cores = num_cores
        self.vector_unit_bytes = vector_unit_bytes
        self.cache_line_bytes = cache_line_bytes
        self.max_shared_memory_per_block = max_shared_memory_per_block
        self.max_local_memory_per_block = max_local_memory_per_block
        self.max_threads_per_block = max_threads_per_block
        self.max_vthread_extent = max_vthread_extent
        self.warp_size = warp_size
        for name, value in vars(self).items():
            if value is not None and (isinstance(value, bool) or int(value) < 1):
                raise ArgumentValueError(f"HardwareParams: {name} is at least 1, got {value!r}")
        if cache_line_bytes not in (None, _LINE_BYTES):
            raise ArgumentValueError(
                f"HardwareParams: the size of cache lines is {_LINE_BYTES} bytes on all machines "
                f"that code is generated for, got cache_line_bytes={cache_line_bytes}"
            )
        if target is not None:
            self._fill_in(Target(target))

    def _fill_in(self, target: Target) -> None:
        """Take what is not given from a target."""
        if target.kind.device_type == "cpu":
            self.num_cores = self.num_cores or target.num_cores
            self.vector_unit_bytes = self.vector_unit_bytes or target.vector_bits // 8 or None
            return
        for name, attribute in _GPU.items():
            if getattr(self, name) is None:
                setattr(self, name, target.attrs.get(attribute))

    def applied_to(self, target: Target) -> Target:
        """A target with these numbers as attributes.

        Raises:
            ArgumentValueError: for a number that means nothing for the kind of the target.
        """
        is_cpu = target.kind.device_type == "cpu"
        found: dict[str, Any] = {}
        if is_cpu and self.num_cores is not None:
            found["num-cores"] = self.num_cores
        if is_cpu and self.vector_unit_bytes is not None:
            found["vector-width"] = 8 * self.vector_unit_bytes
        for name, attribute in _GPU.items():
            value = getattr(self, name)
            if value is not None and attribute in target.kind.attributes:
                found[attribute] = value
            elif value is not None and not is_cpu:
                raise ArgumentValueError(f"HardwareParams: {name} means nothing for {target}")
        known = {name: value for name, value in found.items() if target.attrs.get(name) != value}
        return Target({**target.export(), **known}) if known else target

    def __repr__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value is not None}
        return f"HardwareParams({', '.join(f'{name}={value}' for name, value in given.items())})"
