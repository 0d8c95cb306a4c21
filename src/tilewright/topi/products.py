"""Products of arrays along some of their dimensions: matmul, tensordot, einsum."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType, promote
from tilewright.ir.expr import Expr, is_const_int
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.reducer import reduce_axis
from tilewright.te.reductions import sum as sum_over
from tilewright.te.tensor import Tensor, shape_text, zero_like
from tilewright.topi import nn, tag
from tilewright.topi.nn.window import require_equal
from tilewright.topi.operands import accumulator, in_dtype, normalized_axes, or_neutral


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The product of two matrices, either of them transposed if asked for."""
    for name, tensor in (("a", a), ("b", b)):
        if tensor.ndim != 2:
            raise ShapeError(
                f"matmul: `{name}` is a matrix, it has {tensor.ndim} dimensions; topi.nn.matmul "
                "takes more"
            )
    return nn.matmul(a, b, transpose_a=transp_a, transpose_b=transp_b)


def tensordot(a: Tensor, b: Tensor, axes: int | Sequence[Any] | None = 2) -> Tensor:
    """The sum of products of `a` and `b` along `axes`, as numpy has it.

    Args:
        a: an array.
        b: another one.
        axes: how many dimensions, the last ones of `a` and the first ones of `b`, are added over;
            or a list of those of `a` and a list of those of `b`.
    """
    left, right = _axes(a, b, 2 if axes is None else axes)
    for u, v in zip(left, right, strict=True):
        require_equal("tensordot", "the extents of a sum", a.shape[u], b.shape[v])
    rest_a = [n for n in range(a.ndim) if n not in left]
    rest_b = [n for n in range(b.ndim) if n not in right]
    steps = [te.reduce_axis((0, a.shape[n]), f"k{position}") for position, n in enumerate(left)]

    dtype = promote(a.dtype, b.dtype)
    wide = accumulator(dtype)

    def element(*place: Any) -> Any:
        of_a = dict(zip([*rest_a, *left], [*place[: len(rest_a)], *steps], strict=True))
        of_b = dict(zip([*rest_b, *right], [*place[len(rest_a) :], *steps], strict=True))
        left_item = cast(wide, a(*(of_a[n] for n in range(a.ndim))))
        product = left_item * cast(wide, b(*(of_b[n] for n in range(b.ndim))))
        return te.sum(product, axis=steps) if steps else product

    shape = [*(a.shape[n] for n in rest_a), *(b.shape[n] for n in rest_b)]
    total = te.compute(shape, element, "T_tensordot", "tensordot")
    return in_dtype(or_neutral(total, [a.shape[n] for n in left]), dtype)


def _axes(a: Tensor, b: Tensor, axes: int | Sequence[Any]) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ArgumentError(
                f"tensordot: `axes` is {axes}, for {a.ndim} and {b.ndim} dimensions"
            )
        return list(range(a.ndim - axes, a.ndim)), list(range(axes))
    left, right = (list(x) if isinstance(x, (list, tuple)) else [x] for x in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: `axes` lists {len(left)} and {len(right)} dimensions")
    left, right = (normalized_axes("tensordot", *x) for x in ((left, a.ndim), (right, b.ndim)))
    return list(left), list(right)


def einsum(subscripts: str, *operand: Any) -> Tensor:
    """The sum of products that `subscripts` says, as in numpy: ``"bij,bjk->bik"``.

    Each letter names a dimension; letters that the result lacks are summed over. ``...`` stands
    for leading dimensions, which broadcast. Without an arrow the result has the letters that occur
    once, in alphabetical order.
    """
    operands = (
        operand[0] if len(operand) == 1 and isinstance(operand[0], (tuple, list)) else operand
    )
    names, result = parse_subscripts(subscripts, [tensor.ndim for tensor in operands])
    return _contract(list(operands), names, result)


def parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of the dimensions of each operand and of the result.

    Dimensions of ``...`` get capital letters that are free.

    Raises:
        ArgumentError: if they do not fit the operands.
    """
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ArgumentError(
            f"topi.einsum: {subscripts!r} names {len(terms)} operands, there are {len(ranks)}"
        )
    free = [c for c in string.ascii_uppercase + string.ascii_lowercase if c not in text]
    rests = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    longest = max([r for term, r in zip(terms, rests, strict=True) if "..." in term], default=0)
    shared = "".join(free[: max(longest, 0)])
    names = []
    for term, rest, rank in zip(terms, rests, ranks, strict=True):
        if rest < 0 or (rest and "..." not in term):
            raise ArgumentError(
                f"topi.einsum: {term!r} of {subscripts!r} is for an operand of {rank - rest} "
                f"dimensions, it has {rank}"
            )
        names.append(term.replace("...", shared[len(shared) - rest :] if rest else ""))
    if not arrow:
        letters = "".join(names)
        once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in shared)
        return _checked(subscripts, names, shared + "".join(once))
    return _checked(subscripts, names, output.replace("...", shared))


def _checked(subscripts: str, names: list[str], result: str) -> tuple[list[str], str]:
    known = set("".join(names))
    wrong = [c for c in (*known, *result) if not c.isalpha()]
    if wrong or len(set(result)) != len(result) or not set(result) <= known:
        raise ArgumentError(
            f"topi.einsum: {subscripts!r}: dimensions are letters, and each of the result is "
            "one of the operands, once"
        )
    return names, result


def _contract(operands: list[Tensor], names: list[str], result: str) -> Tensor:
    # Two at a time: a product of three would read every element for every other pair.
    while len(operands) > 2:
        needed = set(result).union(*names[2:])
        kept = "".join(dict.fromkeys(c for c in names[0] + names[1] if c in needed))
        operands[:2] = [_product(operands[:2], names[:2], kept)]
        names[:2] = [kept]
    return _product(operands, names, result)


def _product(operands: Sequence[Tensor], names: Sequence[str], result: str) -> Tensor:
    """The sum of products of one or two operands, in their dtype."""
    dtype = _common_dtype(operands)
    if len(operands) > 1:
        pairs = zip(operands, names, reversed(names), strict=True)
        summed = [_without_own_sums(*pair, result) for pair in pairs]
        operands, names = [tensor for tensor, _ in summed], [letters for _, letters in summed]
    return in_dtype(_sum_of_products(operands, names, result), dtype)


def _without_own_sums(tensor: Tensor, names: str, others: str, result: str) -> tuple[Tensor, str]:
    """An operand added up along the dimensions that nothing else has, and those that are left.

    In the product, each of these sums would be computed for all elements of the other operand.
    """
    kept = "".join(c for c in names if c in others or c in result or names.count(c) > 1)
    return (tensor, names) if kept == names else (_sum_of_products([tensor], [names], kept), kept)


def _common_dtype(operands: Sequence[Tensor]) -> DType:
    return functools.reduce(promote, (tensor.dtype for tensor in operands))


def _sum_of_products(operands: Sequence[Tensor], names: Sequence[str], result: str) -> Tensor:
    """The sum, in the dtype in which it is added up."""
    extents: dict[str, Expr] = {}
    for tensor, letters in zip(operands, names, strict=True):
        for letter, extent in zip(letters, tensor.shape, strict=True):
            known = extents.get(letter)
            if known is None or is_const_int(known, 1):
                extents[letter] = extent
            elif not is_const_int(extent, 1) and not same_extent(known, extent):
                raise ShapeError(
                    f"topi.einsum: dimension {letter!r} has extents {shape_text((known, extent))}"
                )
    summed = [letter for letter in extents if letter not in result]
    axes = {
        letter: reduce_axis((zero_like(extents[letter]), extents[letter]), f"k{letter}")
        for letter in summed
    }

    wide = accumulator(_common_dtype(operands))

    def element(*i: Expr) -> Any:
        at: dict[str, Expr] = dict(zip(result, i, strict=True))
        at |= {letter: axis.var for letter, axis in axes.items()}
        value: Any = None
        for tensor, letters in zip(operands, names, strict=True):
            places = [
                zero_like(extent) if is_const_int(extent, 1) else at[letter]
                for letter, extent in zip(letters, tensor.shape, strict=True)
            ]
            item = cast(wide, tensor(*places))
            value = item if value is None else value * item
        return sum_over(value, axis=list(axes.values())) if axes else value

    shape = [extents[letter] for letter in result]
    total = compute(shape, element, "T_einsum", tag.COMM_REDUCE if axes else tag.BROADCAST)
    return or_neutral(total, [extents[letter] for letter in summed])
