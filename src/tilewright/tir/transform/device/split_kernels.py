"""A function that starts kernels, and the kernels, become functions of their own.

Before::                                        After::

    def main(A, B):                                 def main(A, B):
        launch i_0 over blockIdx.x in range(8):         launch_kernel("main_kernel", A, B, 8, 32)
            launch i_1 over threadIdx.x in range(32):
                B[i_0 * 32 + i_1] = ...             def main_kernel(A, B):
                                                        launch i_0 over blockIdx.x ...

A kernel takes the pointers and numbers that it mentions, and a launch passes the extents of its
axes after them, the outermost first. Memory that several kernels use is of the device, see
`tilewright.tir.op.devices`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.error import LoweringError
from tilewright.ir.convert import const
from tilewright.ir.expr import Var
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.unique_names import UniqueNames
from tilewright.tir.analysis.expressions import undefined_vars
from tilewright.tir.buffer import BufferLoad, storage_scope
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.devices import DEVICE_MEMORY, launch_kernel
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    Stmt,
)
from tilewright.tir.transform.device import LAUNCH_AXES
from tilewright.tir.transform.device.dynamic_memory import dynamic_size
from tilewright.tir.transform.device.thread_axes import axes_and_body, is_axis, with_body


def split_kernels(module: IRModule, device_type: int) -> IRModule:
    """A module in which kernels are functions of their own, with the attribute `LAUNCH_AXES`.

    Args:
        module: functions over flat memory, whose kernels have barriers.
        device_type: DLPack's number of the devices that they are for.

    Raises:
        LoweringError: for a function that accesses memory of the device outside of a kernel.
    """
    names = UniqueNames()
    kernels: dict[GlobalVar, PrimFunc] = {}
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in module.functions.items():
        if isinstance(func, PrimFunc):
            split = _Split(var.name_hint, func, names, device_type)
            functions[var] = func.with_body(split.whole(func.body))
            kernels |= split.kernels
        else:
            functions[var] = func
    return IRModule({**functions, **kernels}, module.attrs, module.global_infos)


@dataclass
class _ThreadMemory:
    """Memory of the threads of some kernel, which is allocated around it.

    Attributes:
        allocation: the statement that allocates it.
        loops: number of loops of the host around that.
        kernel: the name of the kernel that uses it, once that is known.
    """

    allocation: Allocate
    loops: int
    kernel: str = ""


class _Split(Rewriter):
    def __init__(self, name: str, func: PrimFunc, names: UniqueNames, device_type: int) -> None:
        self.kernels: dict[GlobalVar, PrimFunc] = {}
        self._name, self._func, self._names = name, func, names
        self._device_type, self._takes_memory = device_type, False
        self._memory: dict[Var, _ThreadMemory] = {}
        self._loops = 0  # number of loops of the host around the present place

    def whole(self, body: Stmt) -> Stmt:
        """The body of the function."""
        changed = self(body)
        if not self._takes_memory:
            return changed
        arguments = [buffer.data for buffer in self._func.buffer_map.values()]
        beside = arguments[0] if arguments else abi.as_pointer(const(0, "int64"))
        return AttrStmt(None, DEVICE_MEMORY, beside, changed)

    def For(self, loop: For) -> Stmt:
        self._loops += 1
        changed = loop.map_children(self)
        self._loops -= 1
        return changed

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if not is_axis(stmt):
            return stmt.map_children(self)
        name = self._names.unique(f"{self._name}_kernel")
        axes, body = axes_and_body(stmt)
        kernel = with_body(stmt, self._with_memory(name, body))
        mentioned = dict.fromkeys(undefined_vars(kernel))
        arguments = [buffer.data for buffer in self._func.buffer_map.values()]
        params = [*(dict.fromkeys(a for a in arguments if a in mentioned) | mentioned)]
        attrs = {
            "global_symbol": name,
            "tir.noalias": self._func.attrs.get("tir.noalias", False),
            LAUNCH_AXES: [axis.tag for axis in axes],
        }
        self.kernels[GlobalVar(name)] = PrimFunc(tuple(params), kernel, None, {}, attrs)
        extents = {axis.tag: axis.extent for axis in axes}
        shared = dynamic_size(name, kernel, mentioned)
        return Evaluate(launch_kernel(self._device_type, name, params, extents, shared))

    # --- memory -----------------------------------------------------------------------------

    def _with_memory(self, kernel: str, body: Stmt) -> Stmt:
        """What a kernel does, with the memory of its threads that was allocated around it."""
        for var in undefined_vars(body) if self._memory else ():
            memory = self._memory.get(var)
            if memory is None:
                continue
            is_kept = memory.loops != self._loops  # from one launch to the next
            memory.kernel = memory.kernel or kernel
            if is_kept or memory.kernel != kernel:
                raise LoweringError(
                    f"{self._name}: {var.name} is in {storage_scope(var)} memory, which is gone "
                    f"after a kernel, and {'several launches' if is_kept else 'two kernels'} use "
                    "it; compute all in the same loop over blocks, or leave it in global memory"
                )
            body = memory.allocation.replace(body=body)
        return body

    def Allocate(self, stmt: Allocate) -> Stmt:
        if storage_scope(stmt.buffer_var) != "global":
            self._memory[stmt.buffer_var] = _ThreadMemory(stmt, self._loops)
            return self(stmt.body)
        self._takes_memory = True
        annotations = {**stmt.annotations, DEVICE_MEMORY: self._device_type}
        return stmt.replace(body=self(stmt.body), annotations=annotations)

    def AllocateConst(self, stmt: AllocateConst) -> Stmt:
        raise LoweringError(
            f"{self._name}: the constant {stmt.buffer_var.name} cannot be used by kernels; pass it "
            "as an argument"
        )

    def BufferStore(self, access: BufferStore | BufferLoad) -> Stmt:
        raise LoweringError(
            f"{self._name}: {access.buffer.name} is accessed by a statement that no loop over "
            "threads is around: bind a loop around it to blockIdx.x or threadIdx.x"
        )

    BufferLoad = BufferStore
