"""The primitives of a stage that transform its loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.error import did_you_mean
from tilewright.ir.convert import as_attribute, as_expr
from tilewright.ir.expr import Expr, IntImm
from tilewright.te.schedule.primitive import recorded
from tilewright.te.schedule.relation import Fuse, Relation, Singleton, Split, domain
from tilewright.te.schedule.stage_state import StageState
from tilewright.te.tensor import Tensor
from tilewright.te.tensor_intrin import TensorIntrin
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_limits import ROOM, Reach, TooLargeError
from tilewright.tir.stmt import ForKind


class LoopPrimitives(StageState):
    """The primitives that transform the loops of a stage."""

    if not TYPE_CHECKING:  # checkers know all methods

        def __getattr__(self, name: str) -> Any:
            hint = did_you_mean(name, dir(type(self)))
            raise AttributeError(f"a stage has no method {name!r}{hint}")

    @recorded()
    def split(
        self,
        parent: IterVar,
        factor: Any = None,
        nparts: Any = None,
        disable_predication: bool = False,
    ) -> tuple[IterVar, IterVar]:
        """Split a loop in two.

        A symbolic extent of dtype int32 is at most 2**31 - 65,536, so that tiles of up to 65,536
        iterations fit. The function raises an error if it is called with a symbolic factor that is
        not positive.

        Args:
            parent: the loop.
            factor: extent of the inner loop. Where it does not divide the extent of the loop, the
                instances beyond the end are skipped.
            nparts: extent of the outer loop, instead of `factor`.
            disable_predication: the caller knows that no instance lies beyond the end.

        Returns:
            The outer and the inner loop, named ``<parent>_outer`` and ``<parent>_inner``.

        Raises:
            TEScheduleError: if `parent` is not a loop of this stage, not exactly one positive
                number is given, or the dtype of the loop does not hold all iterations.
        """
        if (factor is None) == (nparts is None):
            raise self.error("split", "give either factor or nparts, and not both")
        position = self.position("split", parent)
        count = self._count("split", "factor" if nparts is None else "nparts", factor, nparts)
        if nparts is None:
            relation = Split(parent, count, None, not disable_predication)
        else:
            relation = Split(parent, None, count, not disable_predication)
        self._require_representable(relation)
        self._replace(position, 1, relation)
        return relation.outer, relation.inner

    @recorded()
    def fuse(self, *args: IterVar) -> IterVar:
        """Fuse consecutive loops into one.

        The fused loop counts in int64 if its iterations may be too many for the dtype of the loops.

        Args:
            *args: loops, each directly inside the one before; one loop stays as it is. Without
                any, a loop of one iteration is made around all others.

        Returns:
            The loop, named ``<outer>_<inner>_fused``.

        Raises:
            TEScheduleError: if one is not a loop of this stage, or they are not consecutive.
        """
        loops = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else [*args]
        if not loops:
            single = Singleton()
            self._replace(0, 0, single)
            return single.loop
        fused = loops[0]
        self.position("fuse", fused)
        for loop in loops[1:]:
            first, second = self.position("fuse", fused), self.position("fuse", loop)
            if abs(first - second) != 1:
                raise self.error(
                    "fuse",
                    "can only fuse iterations that are consecutive between each other; "
                    f"{fused.name} and {loop.name} are not, the loops are {self.loop_names()}",
                )
            outer, inner = (fused, loop) if first < second else (loop, fused)
            shapes = [tensor.shape for tensor in self.schedule.arguments]
            relation = Fuse(outer, inner, shapes)
            self._replace(min(first, second), 2, relation)
            fused = relation.fused
        return fused

    @recorded()
    def reorder(self, *args: IterVar) -> None:
        """Put the given loops into the given order, in the places that they have now.

        Raises:
            TEScheduleError: if one is not a loop of this stage, or appears twice.
        """
        positions = [self.position("reorder", loop) for loop in args]
        if len(set(positions)) != len(positions):
            raise self.error("reorder", "same axis can not appear more than once")
        for position, loop in zip(sorted(positions), args, strict=True):
            self.leaf_iter_vars[position] = loop

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and put the outer ones outside.

        Returns:
            x_outer, y_outer, x_inner, y_inner.
        """
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    @recorded()
    def vectorize(self, var: IterVar) -> None:
        """Run the iterations as lanes of vector instructions."""
        self._set_kind("vectorize", var, ForKind.VECTORIZED)

    @recorded()
    def unroll(self, var: IterVar) -> None:
        """Repeat the body for each iteration."""
        self._set_kind("unroll", var, ForKind.UNROLLED)

    @recorded()
    def parallel(self, var: IterVar) -> None:
        """Run the iterations on several threads."""
        self._set_kind("parallel", var, ForKind.PARALLEL)

    @recorded()
    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Run one iteration per GPU thread or block.

        Args:
            ivar: the loop. A reduction axis can be bound to ``threadIdx`` only, whose threads can
                combine their results.
            thread_ivar: from `te.thread_axis`. Where it has an extent, the loop must have it too.

        Raises:
            TEScheduleError: if `ivar` is not a loop of this stage or cannot be bound, or
                `thread_ivar` is not a thread axis or has another loop of this stage already.
        """
        self.position("bind", ivar)
        if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type is not (
            IterType.THREAD_INDEX
        ):
            raise self.error(
                "bind", f"{ivar.name} must be bound to a te.thread_axis, got {thread_ivar!r}"
            )
        tag = thread_ivar.thread_tag
        if ivar.iter_type is not IterType.DATA_PAR and not (
            ivar.iter_type is IterType.COMM_REDUCE and tag.startswith("threadIdx")
        ):
            raise self.error(
                "bind",
                f"cannot bind {ivar.name} to {tag}: it is a reduction axis, whose iterations can "
                "be combined across threadIdx only",
            )
        for other in self.leaf_iter_vars:
            thread = self.threads.get(other)
            if other is ivar or thread is None or thread.thread_tag != tag:
                continue
            # One thread of a device stands for virtual threads along any number of axes.
            if thread is thread_ivar or not tag.startswith("vthread"):
                raise self.error("bind", f"{tag} is bound to {other.name} already")
        self.threads[ivar] = thread_ivar
        self.kinds[ivar] = ForKind.THREAD_BINDING

    @recorded()
    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin | str) -> None:
        """Compute what a loop and those inside of it do by an intrinsic.

        Args:
            var: the loop. When the schedule is lowered, its body must compute what the operation
                of the intrinsic says, on boxes of the same shapes.
            tensor_intrin: from `te.decl_tensor_intrin`, or the name of one that is registered.

        Raises:
            TEScheduleError: if `var` is not a loop of this stage, or `tensor_intrin` is not an
                intrinsic.
        """
        self.position("tensorize", var)
        intrin = tensor_intrin
        if isinstance(intrin, str):
            intrin = TensorIntrin.get(intrin)
        if not isinstance(intrin, TensorIntrin):
            raise self.error(
                "tensorize",
                "expected a te.decl_tensor_intrin, or the name of one that is registered; got "
                f"{tensor_intrin!r}",
            )
        self.tensor_intrins[var] = intrin

    @recorded()
    def prefetch(self, tensor: Tensor, var: IterVar, offset: Any) -> None:
        """In each iteration of a loop, fetch what a later iteration will read of a tensor.

        Args:
            tensor: what this stage, or one that is computed in the loop, reads.
            var: the loop.
            offset: how many iterations later.

        Raises:
            TEScheduleError: if `var` is not a loop of this stage, or `offset` is not an integer.
        """
        self.position("prefetch", var)
        if not isinstance(tensor, Tensor):
            raise self.error("prefetch", f"expected a tensor, got {tensor!r}")
        distance = as_expr(offset)
        if not distance.dtype.is_integral or distance.dtype.is_bool:
            raise self.error("prefetch", f"the offset must be an integer, got {distance!r}")
        self.prefetches.setdefault(var, []).append((tensor, distance))

    @recorded()
    def pragma(self, var: IterVar, pragma_type: str, pragma_value: Any = None) -> None:
        """Annotate a loop.

        Args:
            var: the loop.
            pragma_type: such as ``"auto_unroll_max_step"`` (the largest number of steps that are
                unrolled below the loop), ``"unroll_explicit"``, ``"parallel_schedule"``,
                ``"import_llvm"`` or ``"import_c"`` (code of functions that the program calls, in
                LLVM IR or C). Any other name becomes the annotation ``pragma_<name>`` of the loop,
                which passes of your own may read; code generation ignores it.
            pragma_value: its value, 1 by default.

        Raises:
            TEScheduleError: if `var` is not a loop of this stage, or `pragma_type` is not a
                string.
        """
        self.position("pragma", var)
        if not isinstance(pragma_type, str) or not pragma_type:
            raise self.error("pragma", f"the name of a pragma is a string, got {pragma_type!r}")
        value = as_attribute(1 if pragma_value is None else pragma_value)
        self.pragmas.setdefault(var, {})[f"pragma_{pragma_type}"] = value

    def is_reduction(self, var: IterVar) -> bool:
        """Whether `var` comes from a reduction axis, alone or fused with others."""
        return var.iter_type is not IterType.DATA_PAR

    def _set_kind(self, primitive: str, var: IterVar, kind: ForKind) -> None:
        self.position(primitive, var)
        if kind is not ForKind.UNROLLED and self.is_reduction(var):
            raise self.error(
                primitive,
                f"cannot {primitive} {var.name}: its iterations update the same element, because "
                "it is a reduction axis",
            )
        self.kinds[var] = kind
        self.threads.pop(var, None)

    def _replace(self, position: int, count: int, relation: Relation) -> None:
        self.leaf_iter_vars[position : position + count] = relation.children
        self.all_iter_vars.extend(relation.children)
        self.relations.append(relation)

    def _require_representable(self, split: Split) -> None:
        """Refuse tiles so large that the dtype of the loop may not hold the last position."""
        ranges = {loop: domain(loop) for loop in (split.parent, *split.children)}
        extents = {loop.var: (ranges[loop].min, ranges[loop].extent) for loop in split.children}
        position = split.parent_values(tuple(extents), ranges)
        reach = Reach(extents.get)
        try:
            for _, extent in extents.values():
                reach.of(extent)
            for guard in split.guards(position, ranges):
                reach.of(guard)
        except TooLargeError as error:
            raise self.error(
                "split",
                f"{error}; choose tiles of {split.parent.name} of at most {ROOM} iterations, or "
                "count in int64",
            ) from None

    def _count(self, primitive: str, name: str, *given: Any) -> Expr:
        value = as_expr(next(item for item in given if item is not None))
        if not value.dtype.is_integral or value.dtype.is_bool:
            raise self.error(primitive, f"{name} must be an integer, got {value!r}")
        if isinstance(value, IntImm) and value.value <= 0:
            raise self.error(primitive, f"{name} must be positive, got {value.value}")
        return value
