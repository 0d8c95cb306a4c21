"""Registered functions that a test makes are gone after it."""

import pytest

import tilewright as tvm


@pytest.fixture
def register():
    """Like `tvm.register_func`."""
    names = []

    def decorator(name):
        names.append(name)
        return tvm.register_func(name)

    yield decorator
    for name in names:
        tvm.remove_global_func(name)
