"""Index maps: how the indices of one layout become those of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, Final

from tilewright.arith import Analyzer, interval_of
from tilewright.error import ArgumentError, ArgumentValueError, DTypeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.node import Node, binds, child, node
from tilewright.ir.range import Range
from tilewright.providers import provider
from tilewright.tir.substitute import substitute, variables_of


@node
class IndexMap(Node):
    """A function from the indices of one layout to those of another.

    ``IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))`` puts a matrix of shape ``(16, 8)`` into
    one of shape ``(4, 8, 4)``. Applying a map does not change the order in which elements are
    computed; it says where they are.

    Attributes:
        initial_indices: the variables that stand for the indices of the old layout.
        final_indices: the indices of the new layout, in terms of them.
        inverse_index_map: the way back, where it is given rather than found.
    """

    AXIS_SEPARATOR: ClassVar[Final] = "axis_separator"
    """Among the results of a function: a physical axis ends here."""

    initial_indices: tuple[Var, ...] = binds()
    final_indices: tuple[Expr, ...] = child()
    inverse_index_map: IndexMap | None = child(default=None)

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: Any = "int32",
    ) -> IndexMap:
        """The index map that a Python function describes.

        Args:
            mapping_function: takes the old indices and returns the new ones, as a list or tuple
                or a single expression.
            ndim: how many old indices there are; needed where the function takes ``*args``.
            inverse_index_map: the way back, as a function or an index map; without it, it is
                computed where it is needed.
            index_dtype: the dtype of the old indices, or a list of one for each.

        Raises:
            ArgumentError: for a function that takes or returns something else.
        """
        result, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise ArgumentValueError(
                "IndexMap.from_func: the function returns IndexMap.AXIS_SEPARATOR; "
                "from_func_with_separators keeps it"
            )
        return result

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: Any = "int32",
    ) -> tuple[IndexMap, list[int]]:
        """`from_func`, for a function that may return `IndexMap.AXIS_SEPARATOR` among the indices.

        Returns:
            The index map, and how many new indices there are before each separator.
        """
        from tilewright.tir.index_map_function import map_of_function

        return map_of_function(mapping_function, ndim, inverse_index_map, index_dtype)

    # --- applying ---------------------------------------------------------------------------

    def map_indices(
        self, indices: Sequence[Expr | int], analyzer: Analyzer | None = None
    ) -> list[Expr]:
        """The new indices of the element at the old `indices`, simplified.

        The result has the dtype of `indices`, which need not be that of the map.

        Args:
            indices: one per old dimension.
            analyzer: what is known about the variables in them.
        """
        self._check_count("map_indices", indices, "indices")
        values = [_scalar("map_indices", index) for index in indices]
        given = [v for v, index in zip(values, indices, strict=True) if not isinstance(index, int)]
        aligned = self.with_index_dtype(_widest(given)) if given else self
        variables = {
            var: cast(var.dtype, value)
            for var, value in zip(aligned.initial_indices, values, strict=True)
        }
        simplify = (analyzer or Analyzer()).simplify
        return [simplify(substitute(index, variables)) for index in aligned.final_indices]

    def map_ranges(self, ranges: Sequence[Range], analyzer: Analyzer | None = None) -> list[Range]:
        """Between which values the new indices lie while the old ones are in `ranges`.

        Raises:
            ArgumentValueError: if no bound of an index is known.
        """
        self._check_count("map_ranges", ranges, "ranges")
        aligned, ranges = self.aligned_with(ranges)
        analyzer = analyzer or Analyzer()
        domains = dict(zip(aligned.initial_indices, ranges, strict=True))
        for var, domain in domains.items():
            analyzer.bind(var, domain)
        result = []
        with ExitStack() as stack:
            for domain in ranges:
                if not isinstance(domain.extent, IntImm):
                    stack.enter_context(analyzer.constraint(domain.extent >= 0))
            for index in aligned.final_indices:
                low, high = interval_of(analyzer.simplify(index), domains, analyzer)
                if low is None or high is None:
                    raise ArgumentValueError(f"{self!r}: the index {index!r} has no known bounds")
                result.append(Range.from_min_extent(low, analyzer.simplify(high - low + 1)))
        return result

    def map_shape(
        self, shape: Sequence[Expr | int], analyzer: Analyzer | None = None
    ) -> list[Expr]:
        """The least shape with room for all elements of an array of `shape` in the new layout.

        Raises:
            ArgumentValueError: if an index may be negative.
        """
        self._check_count("map_shape", shape, "extents")
        analyzer = analyzer or Analyzer()
        extents = []
        for domain in self.map_ranges(self.ranges_of(shape), analyzer):
            if not analyzer.can_prove(domain.min >= 0):
                raise ArgumentValueError(
                    f"{self!r}: for shape {_shown(shape)}, indices start at {domain.min!r}; "
                    "the indices of an array start at 0"
                )
            extents.append(analyzer.simplify(domain.min + domain.extent))
        return extents

    def map_ndarray(self, arr_src: Any) -> Any:
        """The elements of an array in the new layout; padding, if there is any, is 0.

        Args:
            arr_src: a numpy array, or an `NDArray`, which gives an `NDArray` on the same device.
        """
        import numpy as np

        from tilewright.tir.index_map_function import moved_elements

        if isinstance(arr_src, np.ndarray):
            return moved_elements(self, arr_src)
        if not hasattr(arr_src, "numpy"):
            raise ArgumentError(f"IndexMap.map_ndarray expects an array, got {arr_src!r}")
        return provider("arrays").array(moved_elements(self, arr_src.numpy()), arr_src.device)

    # --- inverting --------------------------------------------------------------------------

    def inverse(self, shape: Sequence[Range | Expr | int]) -> IndexMap:
        """The map from the new layout back to the old one.

        Args:
            shape: extents, or ranges, of the old indices.

        Raises:
            ArgumentValueError: if the map is not a bijection, or none that can be inverted.
        """
        from tilewright.tir.index_map_inverse import inverse

        return inverse(self, self.ranges_of(shape))

    def non_surjective_inverse(self, shape: Sequence[Range | Expr | int]) -> tuple[IndexMap, Expr]:
        """The way back from a layout that may have padding.

        For ``lambda i: (i // 4, i % 4)`` and 14 elements, the inverse is
        ``lambda axis0, axis1: axis0 * 4 + axis1``, and the predicate ``14 <= axis0 * 4 + axis1``.

        Args:
            shape: extents, or ranges, of the old indices.

        Returns:
            The inverse, and a condition on its `initial_indices` that holds where no element of
            the old layout is.

        Raises:
            ArgumentValueError: if the map is not injective, or it cannot be inverted.
        """
        from tilewright.tir.index_map_inverse import non_surjective_inverse

        return non_surjective_inverse(self, self.ranges_of(shape))

    # --- comparing and converting -----------------------------------------------------------

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Whether both maps are known to give the same new indices for all old ones."""
        if not isinstance(other_map, IndexMap):
            raise ArgumentError(f"is_equivalent_to expects an index map, got {other_map!r}")
        if len(self.initial_indices) != len(other_map.initial_indices) or len(
            self.final_indices
        ) != len(other_map.final_indices):
            return False
        analyzer = Analyzer()
        own = self.with_index_dtype(DType("int64"))
        others = other_map.map_indices(own.initial_indices, analyzer)
        return all(map(analyzer.can_prove_equal, own.final_indices, others))

    def with_index_dtype(self, dtype: str) -> IndexMap:
        """This map with old and new indices of the given integer type.

        All their values must fit it.
        """
        from tilewright.tir.index_map_function import with_dtype

        return with_dtype(self, DType(dtype))

    def free_variables(self) -> list[Var]:
        """The variables that the map mentions and does not define, such as symbolic sizes."""
        used = [var for index in self.final_indices for var in variables_of(index)]
        free = dict.fromkeys(var for var in used if var not in set(self.initial_indices))
        if self.inverse_index_map is not None:
            free.update(dict.fromkeys(self.inverse_index_map.free_variables()))
        return list(free)

    def aligned_with(self, ranges: Sequence[Range]) -> tuple[IndexMap, list[Range]]:
        """This map and the ranges of its old indices, all in the widest dtype of the ranges."""
        dtype = _widest([end for domain in ranges for end in (domain.min, domain.extent)])
        wide = [Range.from_min_extent(cast(dtype, r.min), cast(dtype, r.extent)) for r in ranges]
        return self.with_index_dtype(dtype) if ranges else self, wide

    def ranges_of(self, shape: Sequence[Range | Expr | int]) -> list[Range]:
        """The ranges of the old indices for a shape; items that are ranges already are kept."""
        self._check_count("the shape", shape, "extents")
        ranges = []
        for item, var in zip(shape, self.initial_indices, strict=True):
            if isinstance(item, Range):
                ranges.append(item)
                continue
            extent = as_expr(item, var.dtype) if isinstance(item, int) else _scalar("shape", item)
            if isinstance(extent, IntImm) and extent.value < 1:
                raise ArgumentValueError(f"IndexMap: the extent {extent.value} is less than 1")
            ranges.append(Range.from_extent(extent))
        return ranges

    def _check_count(self, what: str, items: Any, kind: str) -> None:
        if not isinstance(items, (list, tuple)) or len(items) != len(self.initial_indices):
            raise ArgumentError(
                f"IndexMap: {what} needs a list of {len(self.initial_indices)} {kind}, "
                f"got {_shown(items)}"
            )


def _scalar(what: str, value: Any) -> Expr:
    expr = as_expr(value)
    if not expr.dtype.is_scalar_integer:
        raise DTypeError(f"IndexMap: {what} needs integers, got {expr!r} of dtype {expr.dtype!s}")
    return expr


def _widest(values: Sequence[Expr]) -> DType:
    """The dtype of all indices together; int32 where there are none."""
    dtypes = [value.dtype for value in values]
    return max(dtypes, key=lambda dtype: dtype.bits, default=DType("int32"))


def _shown(items: Any) -> str:
    return repr(tuple(items)) if isinstance(items, list) else repr(items)
