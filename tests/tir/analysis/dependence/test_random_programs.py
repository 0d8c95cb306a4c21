"""Dependences and verdicts for random programs, compared with running through all instances."""

from __future__ import annotations

from hypothesis import given, reject
from hypothesis import strategies as st
from tests.tir.analysis.dependence.events import conflict, events, keeps_order, ordered_pairs
from tests.tir.analysis.dependence.random_programs import pairs

from tilewright.ir import const
from tilewright.tir import For
from tilewright.tir.analysis.dependence import (
    NotProved,
    Violation,
    analyze,
    carried_by,
    check_order,
)
from tilewright.tir.analysis.dependence.solver import limited


def points(relation):
    """The pairs of a map as tuples of numbers; rejects a map that isl cannot list soon."""
    import islpy as isl

    found = set()
    count = relation.dim(isl.dim_type.in_)
    relation = relation.wrap().flatten()

    def add(point):
        dims = range(relation.dim(isl.dim_type.set))
        kind = isl.dim_type.set
        numbers = [point.get_coordinate_val(kind, n).to_python() for n in dims]
        found.add((tuple(numbers[:count]), tuple(numbers[count:])))

    try:
        with limited():
            relation.foreach_point(add)
    except isl.Error:
        reject()
    return found


@given(pairs())
def test_dependences_are_what_running_shows(pair):
    program = analyze(pair.before)
    found = set()
    for source in program.statements:
        for sink in program.statements:
            relation = program.ordered_conflicts(source, sink)
            if relation is not None:
                found |= {((source.name, a), (sink.name, b)) for a, b in points(relation)}
    assert found == ordered_pairs(events(pair.before), pair.reductions)


@given(pairs())
def test_verdicts_are_what_running_shows(pair):
    verdict = check_order(pair.before, pair.after)
    assert not isinstance(verdict, NotProved), str(verdict)
    expected = keeps_order(events(pair.before), events(pair.after), pair.reductions)
    assert (verdict is None) is expected, str(verdict)


@given(pairs())
def test_counterexamples_are_real(pair):
    before, after = events(pair.before), events(pair.after)
    verdict = check_order(pair.before, pair.after)
    if not isinstance(verdict, Violation):
        return
    assert verdict.kind == "order"
    first, second = ((i.name, tuple(i.values.values())) for i in verdict.example.instances)
    order = {event[:2]: n for n, event in enumerate(after)}
    assert (first, second) in ordered_pairs(before, pair.reductions)
    assert order[first] > order[second]
    example = verdict.example
    for named, action in zip((first, second), example.actions, strict=True):
        event = next(e for e in before if e[:2] == named)
        elements = event.writes if action == "written" else event.reads
        texts = {f"{name}[{', '.join(map(str, index))}]" for name, _, index in elements}
        assert example.element in texts
    assert example.element in str(verdict)


def carried(found_by_iteration):
    """Whether two events of different iterations conflict."""
    return any(
        conflict(a, b)
        for n, first in enumerate(found_by_iteration)
        for second in found_by_iteration[n + 1 :]
        for a in first
        for b in second
    )


@given(pairs())
def test_outermost_loops_that_carry_dependences(pair):
    program = analyze(pair.after)
    body = pair.after.body.block.body
    for loop in (item for item in getattr(body, "seq", (body,)) if isinstance(item, For)):
        verdict = carried_by(program, loop)
        assert not isinstance(verdict, NotProved), str(verdict)
        iterations = []
        for number in range(loop.extent.value):
            once = loop.replace(min=loop.min + number, extent=const(1))
            root = pair.after.body.block.replace(body=once)
            func = pair.after.with_body(pair.after.body.replace(block=root))
            iterations.append(events(func))
        assert (verdict is not None) is carried(iterations), str(verdict)


@given(pairs(), st.integers(1, 5000))
def test_little_work_gives_no_wrong_answer(pair, operations):
    with limited(operations):
        verdict = check_order(pair.before, pair.after)
    expected = keeps_order(events(pair.before), events(pair.after), pair.reductions)
    assert isinstance(verdict, NotProved) or (verdict is None) is expected
    if isinstance(verdict, Violation):
        assert str(verdict)
