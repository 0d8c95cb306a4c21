"""Limits of what isl is asked."""

import time

from tilewright.tir.analysis.dependence import NotProved
from tilewright.tir.analysis.dependence.solver import answers, read_map


def test_a_text_with_too_many_alternatives_is_given_up_soon():
    parts = " and ".join(
        f"((a{n} = l and l >= {n}) or (a{n} = b{n} and b{n} > l))" for n in range(20)
    )
    names = ", ".join(f"a{n}, b{n}" for n in range(20))
    total = " + ".join(f"{n + 1}a{n}" for n in range(20))
    text = f"{{ [l] -> [o] : exists ({names} : o = {total} and {parts}) }}"
    start = time.process_time()
    found = answers(read_map)(text)
    assert isinstance(found, NotProved)
    assert "it takes too long" in found.reason
    assert time.process_time() - start < 5
    assert not read_map("{ [l] -> [l + 1] }").is_empty()
