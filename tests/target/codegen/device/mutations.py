"""Mistakes that are put into the source of a kernel, which tests then have to notice."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unittest import mock

from tests.target.codegen.device.programs import named, reverse

import tilewright as tvm
from tilewright.target.codegen.device import compile as device_compile

BARRIER = r"(__syncthreads\(\)|barrier\(.*?\));"


def _without_barrier(text: str) -> str:
    return re.sub(BARRIER, "", text)


def _barrier_for_some(text: str) -> str:
    return re.sub(BARRIER, r"if (i < 3) \1;", text)


def _shared_index_too_far(text: str) -> str:
    return text.replace("row[i] =", "row[i + 1] =")


def _index_too_far(text: str) -> str:
    return re.sub(r"\bB\[(.*?)\] =", r"B[\1 + 1] =", text)


def _unwritten_memory(text: str) -> str:
    return re.sub(r"\n *row\[i\] =.*", "", text)


MUTATIONS: dict[str, Callable[[str], str]] = {
    change.__name__.lstrip("_"): change
    for change in (
        _without_barrier, _barrier_for_some, _shared_index_too_far, _index_too_far,
        _unwritten_memory,
    )
}  # fmt: skip


def mutated(name: str, target: str) -> Any:
    """The module of a kernel that turns rows round through shared memory, with a mistake in it.

    Args:
        name: of the mistake, which its function is called.
        target: the kind of device.
    """
    original = device_compile.generate_kernels

    def changed(*arguments: Any) -> str:
        text = original(*arguments)
        found = MUTATIONS[name](text)
        assert found != text, text
        return found

    with mock.patch.object(device_compile, "generate_kernels", changed):
        return tvm.build(named(reverse(), name), target=target)
