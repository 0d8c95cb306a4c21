"""isl, loaded when it is first needed: linear forms in its notation, and limits of cost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar

from tilewright.arith.linear import LinearForm
from tilewright.ir.cache import LOCK
from tilewright.tir.analysis.dependence.violation import NotProved

# --- linear forms -------------------------------------------------------------------------------


def text_of(form: LinearForm) -> str:
    """A form over names of dimensions, sizes and unknowns, and over quotients, as isl reads it."""
    parts = [
        name if coefficient == 1 else f"{coefficient}*{name}"
        for name, coefficient in form.terms.items()
    ]
    if form.constant:
        parts.append(str(form.constant))
    return " + ".join(parts) or "0"


def linear_map(dimensions: Mapping[str, int], forms: Sequence[LinearForm]) -> Any:
    """The map from points to the values of linear forms over their dimensions."""
    kinds, space = isl().dim_type, isl().Space.alloc(context(), 0, len(dimensions), len(forms))
    zero = isl().Aff.zero_on_domain_space(space.domain())
    values = isl().AffList.alloc(context(), len(forms))
    for form in forms:
        value = zero.set_constant_val(_value(form.constant))
        for name, coefficient in form.terms.items():
            value = value.set_coefficient_val(kinds.in_, dimensions[name], _value(coefficient))
        values = values.add(value)
    return isl().Map.from_multi_aff(isl().MultiAff.from_aff_list(space, values))


# --- sizes --------------------------------------------------------------------------------------

_OPAQUE: Final[dict[str, str]] = {}
"""Names of expressions of sizes that are not linear forms, such as ``n * m``."""

_DISPLAYED: Final[dict[str, str]] = {}
"""What is shown for these names."""


def parameter_name(var: Any) -> str:
    """The name of a size: unique among the variables that exist at the same time."""
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in var.name)
    return f"p_{plain}_{id(var):x}"


def opaque_name(key: str, text: str) -> str:
    """The name of an expression of sizes.

    `key` is the same for the same expressions, `text` is for people.
    """
    name = _OPAQUE.get(key)
    if name is None:
        name = _OPAQUE[key] = f"t{len(_OPAQUE)}"
        _DISPLAYED[name] = text
    return name


def displayed(parameter: str) -> str:
    """The name of a size for people."""
    known = _DISPLAYED.get(parameter)
    return parameter[2:].rpartition("_")[0] if known is None else known


MAX_OPERATIONS: Final = 20_000_000
"""Elementary steps of isl for one question, about a second; usual questions take a hundredth."""

MAX_READING: Final = 200_000
"""Elementary steps of isl for reading one set or map: these are larger ones."""

LESS: Final = 0.95
"""What each part with a limit of its own leaves of the limit of a question."""

P = ParamSpec("P")
R = TypeVar("R")


class UndecidedError(Exception):
    """A question that cannot be answered, with the reason; it never leaves this package."""


@functools.cache
def isl() -> Any:
    """The module `islpy`."""
    import islpy

    return islpy


@functools.cache
def context() -> Any:
    """The context of all sets and maps of this package."""
    return isl().Context()


@functools.lru_cache(maxsize=1024)
def read_map(text: str) -> Any:
    """The map that `text` says, in the notation of isl."""
    with _limited_reading() as ctx:
        return isl().Map.read_from_str(ctx, text)


@functools.lru_cache(maxsize=1024)
def read_set(text: str) -> Any:
    """The set that `text` says, in the notation of isl."""
    with _limited_reading() as ctx:
        return isl().Set.read_from_str(ctx, text)


def boxed(points: Any, bounds: Mapping[int, tuple[int, int]]) -> Any:
    """The points of a set whose dimensions lie between numbers, both ends included.

    The parser takes most of its time for such conditions, so they are better kept out of texts.
    """
    kinds, space = isl().dim_type, points.get_space()
    if any(low > high for low, high in bounds.values()):
        return isl().Set.empty(space)
    if len(bounds) == points.dim(kinds.set) and not points.dim(kinds.param):
        first = last = isl().Point.zero(space)
        for place, (low, high) in bounds.items():
            first = first.set_coordinate_val(kinds.set, place, _value(low))
            last = last.set_coordinate_val(kinds.set, place, _value(high))
        return points.intersect(isl().Set.box_from_points(first, last))
    for place, (low, high) in bounds.items():
        points = points.lower_bound_val(kinds.set, place, _value(low))
        points = points.upper_bound_val(kinds.set, place, _value(high))
    return points


@functools.lru_cache(maxsize=1024)
def _value(number: int) -> Any:
    return isl().Val.read_from_str(context(), str(number))


@contextmanager
def _limited_reading() -> Iterator[Any]:
    """Within the scope, one text is read: one with many alternatives can take hours."""
    with limited_part(MAX_READING) as ctx:
        yield ctx


@contextmanager
def limited_part(operations: int) -> Iterator[Any]:
    """Within the scope, isl raises its error after so many operations, be it in a larger question.

    isl does not tell what the question has taken before, so that it starts to count anew
    afterwards; each part leaves it less, and a question with many parts comes to an end, too.
    """
    with LOCK:
        ctx = context()
        before = ctx.get_max_operations()
        ctx.reset_operations()
        ctx.set_max_operations(operations)
        try:
            yield ctx
        finally:
            ctx.reset_operations()
            ctx.set_max_operations(max(int(before * LESS), min(before, MAX_READING)))


@contextmanager
def limited(operations: int = MAX_OPERATIONS) -> Iterator[None]:
    """Within the scope, isl raises its error after so many operations.

    One thread at a time: the count belongs to the context. A scope inside of another one only
    shares what is left.
    """
    with LOCK:
        ctx = context()
        if ctx.get_max_operations():
            yield
            return
        ctx.reset_operations()
        ctx.set_max_operations(operations)
        try:
            yield
        finally:
            ctx.set_max_operations(0)
            ctx.reset_operations()


def answers(question: Callable[P, R]) -> Callable[P, R | NotProved]:
    """Make a question that isl cannot answer, or not soon enough, come back as `NotProved`."""

    @functools.wraps(question)
    def ask(*args: P.args, **kwargs: P.kwargs) -> R | NotProved:
        try:
            return question(*args, **kwargs)
        except UndecidedError as error:
            return NotProved(str(error))
        except Exception as error:
            # Only isl's own error is expected; isl is loaded if it was raised.
            if type(error).__module__.partition(".")[0] != "islpy":
                raise
            why = (
                "it could not be decided in the time allowed"
                if "maximal number of op" in str(error)
                else str(error)
            )
            return NotProved(f"the dependences are too complicated for isl: {why}")

    return ask


def bounded(find: Callable[[], R]) -> Callable[[], R | NotProved]:
    """A question of its own that is asked later: see `answers` and `limited`."""

    @answers
    def ask() -> R:
        with limited():
            return find()

    return ask
