"""Limits of what isl is asked."""

import time

from tilewright.tir.analysis.dependence import NotProved
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    MAX_READING,
    answers,
    bounded,
    context,
    limited,
    limited_part,
    read_map,
    read_set,
)
from tilewright.tir.analysis.dependence.violation import Violation


def text_with_too_many_alternatives():
    parts = " and ".join(
        f"((a{n} = l and l >= {n}) or (a{n} = b{n} and b{n} > l))" for n in range(20)
    )
    names = ", ".join(f"a{n}, b{n}" for n in range(20))
    total = " + ".join(f"{n + 1}a{n}" for n in range(20))
    return f"{{ [l] -> [o] : exists ({names} : o = {total} and {parts}) }}"


def test_a_text_with_too_many_alternatives_is_given_up_soon():
    start = time.process_time()
    found = answers(read_map)(text_with_too_many_alternatives())
    assert isinstance(found, NotProved)
    assert "it could not be decided in the time allowed" in found.reason
    assert time.process_time() - start < 5
    assert not read_map("{ [l] -> [l + 1] }").is_empty()


def test_numbers_that_take_too_long_are_given_up():
    violation = Violation(
        "order", bounded(lambda: read_map(text_with_too_many_alternatives())), str
    )
    assert str(violation).startswith("there is one, but no numbers for it: ")
    assert "it could not be decided in the time allowed" in str(violation)


def test_a_question_of_many_parts_comes_to_an_end():
    with limited():
        assert context().get_max_operations() == MAX_OPERATIONS
        for _ in range(10):
            with limited_part(1000):
                assert context().get_max_operations() == 1000
        assert MAX_OPERATIONS / 2 < context().get_max_operations() < MAX_OPERATIONS
        for number in range(200):
            read_map(f"{{ [l] -> [l + {number}] }}")
        assert context().get_max_operations() == MAX_READING
    assert context().get_max_operations() == 0
    read_map("{ [l] -> [l + 200] }")
    assert context().get_max_operations() == 0


def test_a_text_is_read_once():
    text = "{ [a_text, b] : a_text = 2*b }"
    assert read_set(text) is read_set(text)
