"""Calls that nest deeply run on a large stack."""

import sys
import threading

import pytest

from tilewright.error import NestingError
from tilewright.ir.recursion import (
    ScopeStack,
    deep_recursion,
    is_on_large_stack,
    pass_on_recursion_error,
)
from tilewright.ir.transform import PassContext


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


@deep_recursion
def guarded_depth(n):
    return depth(n)


def test_a_deep_call_has_its_result_and_leaves_the_limit():
    before = sys.getrecursionlimit()
    assert guarded_depth(20_000) == 20_000
    assert sys.getrecursionlimit() == before
    assert not is_on_large_stack()


def test_an_ordinary_call_stays_on_its_thread():
    threads = []

    @deep_recursion
    def note(n):
        threads.append(threading.get_ident())
        return depth(n)

    note(10)
    assert threads == [threading.get_ident()]
    note(20_000)
    assert threads[1] == threading.get_ident() != threads[2]


def test_endless_recursion_is_an_error_that_names_the_function():
    @deep_recursion
    def endless(n):
        return endless(n + 1)

    with pytest.raises(NestingError, match=r"endless: .* nest too deeply"):
        endless(0)


def test_errors_and_scopes_cross_to_the_large_stack():
    scopes = ScopeStack()
    scopes.enter("mine")

    @deep_recursion
    def fail(n):
        depth(n)
        scopes.enter("inner")
        raise KeyError(scopes.items[:], PassContext.current())

    with PassContext(opt_level=3) as context, pytest.raises(KeyError) as caught:
        fail(20_000)
    assert caught.value.args == (["mine", "inner"], context)
    scopes.leave()
    assert scopes.innermost() == "mine"


def test_every_other_thread_has_scopes_of_its_own():
    scopes, seen = ScopeStack(), []
    scopes.enter("mine")
    thread = threading.Thread(target=lambda: seen.append(scopes.innermost()))
    thread.start()
    thread.join()
    assert seen == [None]


def test_handlers_of_all_errors_pass_on_what_needs_a_large_stack():
    @deep_recursion
    def careful(n):
        try:
            return depth(n)
        except Exception as error:
            pass_on_recursion_error(error)
            return -1

    assert careful(20_000) == 20_000
    assert careful(10_000_000) == -1
