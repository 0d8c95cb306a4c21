"""Steps in the form in which records have them: lists in JSON, applied to a state.

A step is ``[code, number of a stage, ...]``. This is the form of Apache TVM's auto-scheduler, of
which the numbers of stages and the positions of iterators are the only names; nothing in it is
run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tilewright.auto_scheduler.loop_state import State
from tilewright.auto_scheduler.state_parts import ANNOTATIONS, THREADS, is_integer
from tilewright.error import RecordError, TVMError, did_you_mean
from tilewright.ir.expr import IntImm


def apply_steps(state: State, steps: Sequence[Any]) -> None:
    """Apply the steps of a record to a state.

    Args:
        state: a state of the same computation.
        steps: the steps, each a list.

    Raises:
        RecordError: if one of them is malformed or does not apply. The state has those before it.
    """
    for position, step in enumerate(steps):
        try:
            _apply(state, step)
        except TVMError as error:
            raise RecordError(f"step {position} {_text(step)}: {error}") from None


def steps_as_json(state: State) -> list[list[Any]]:
    """The steps of a state as lists, which `apply_steps` applies."""
    return [[step.code, *step.arguments] for step in state.transform_steps]


def _apply(state: State, step: Any) -> None:
    if not isinstance(step, list) or not step or not isinstance(step[0], str):
        raise RecordError("a step is a list that begins with its kind, such as 'SP'")
    code, *arguments = step
    reader = _READERS.get(code)
    if reader is None:
        hint = did_you_mean(code, _READERS, f"; there are {', '.join(_READERS)}")
        raise RecordError(f"there is no kind of steps {code!r}{hint}")
    fits = len(arguments) == len(reader.fields) and all(
        _CHECKS[field](argument) for field, argument in zip(reader.fields, arguments, strict=True)
    )
    if not fits:
        raise RecordError(f"expected {code}, {', '.join(reader.fields)}")
    reader.apply(state, *arguments)


def _text(step: Any) -> str:
    text = json.dumps(step)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_integer, value))


def _is_lengths(value: Any) -> bool:
    return isinstance(value, list) and all(item is None or is_integer(item) for item in value)


_CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    "stage": is_integer,
    "iterator": is_integer,
    "iterators": _is_list,
    "number": is_integer,
    "numbers": _is_list,
    "extent": lambda value: value is None or is_integer(value),
    "lengths": _is_lengths,
    "flag": lambda value: value in (0, 1),
    "name": lambda value: isinstance(value, str),
}


def _annotate(state: State, stage: int, iterator: int, kind: int) -> None:
    name = ANNOTATIONS[kind] if 0 <= kind < len(ANNOTATIONS) else str(kind)
    if name in THREADS:
        state.bind(stage, iterator, name)
    elif name in ("parallel", "vectorize", "unroll"):
        getattr(state, name)(stage, iterator)
    else:
        raise RecordError(f"iterators are not annotated with {name}")


def _split(
    state: State, stage: int, iterator: int, extent: int | None, lengths: list[Any], inwards: int
) -> None:
    _require_extent(state, stage, iterator, extent)
    state.split(stage, iterator, lengths, bool(inwards))


def _require_extent(state: State, stage: int, iterator: int, extent: int | None) -> None:
    """Require that an iterator has the extent that it had when the record was written."""
    known = dict(enumerate(state[stage].iters)).get(iterator)
    if not extent or known is None or known.range is None:
        return
    found = known.range.extent
    if isinstance(found, IntImm) and found.value != extent:
        raise RecordError(
            f"iterator {known.name} of stage {state[stage].name} has extent {found.value}, but "
            f"{extent} in the record, which is one of another computation"
        )


def _reorder(state: State, stage: int, after: list[int]) -> None:
    iters = state[stage].iters
    if sorted(after) != list(range(len(iters))):
        raise RecordError(
            f"stage {state[stage].name} has {len(iters)} iterators, {after} is not an order of them"
        )
    state.reorder(stage, after)


class _Reader(NamedTuple):
    """How a kind of steps is read.

    Attributes:
        fields: what is behind the code, by `_CHECKS`.
        apply: applies it.
    """

    fields: tuple[str, ...]
    apply: Callable[..., Any]


_READERS: Final = {
    "AN": _Reader(("stage", "iterator", "number"), _annotate),
    "FU": _Reader(("stage", "iterators"), State.fuse),
    "PR": _Reader(("stage", "iterator", "name"), State.pragma),
    "RE": _Reader(("stage", "iterators"), _reorder),
    "SP": _Reader(("stage", "iterator", "extent", "lengths", "flag"), _split),
    "FSP": _Reader(("stage", "iterator", "number", "number"), State.follow_split),
    "FFSP": _Reader(
        ("stage", "iterator", "numbers", "number", "flag"),
        lambda state, *rest: state.follow_fused_split(*rest[:-1], bool(rest[-1])),
    ),
    "SA": _Reader(("stage", "iterator", "number", "number"), State.storage_align),
    "CA": _Reader(("stage", "stage", "iterator"), State.compute_at),
    "CI": _Reader(("stage",), State.compute_inline),
    "CR": _Reader(("stage",), State.compute_root),
    "CHR": _Reader(("stage", "name", "numbers"), State.cache_read),
    "CHW": _Reader(("stage", "name"), State.cache_write),
    "RF": _Reader(("stage", "iterator", "number"), State.rfactor),
}
