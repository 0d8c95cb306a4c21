import math

import pytest
from tests.tune.feature import programs
from tests.tune.feature.enumeration import Accesses, reached

from tilewright import te, tir
from tilewright.tir.stmt import ForKind
from tilewright.tune.feature.read_program import programs_of, read_program

SCHEDULES = {
    "matmul": lambda: tir.Schedule(programs.matmul(3, 4, 5)),
    "tiled": lambda: programs.tiled_matmul(packs=False),
    "packed": programs.tiled_matmul,
    "fused": programs.fused_and_split,
    "transposed": programs.transposed,
    "convolution": programs.convolution,
    "rows": programs.softmax,
}


def func_of(schedule):
    return schedule.mod["main"]


@pytest.mark.parametrize("name", SCHEDULES)
def test_strides_reach_what_the_program_accesses(name):
    func = func_of(SCHEDULES[name]())
    expected = Accesses(func)
    for statement in read_program(func).statements():
        key = (statement.name, statement.initialises)
        assert statement.iterations * statement.share == pytest.approx(expected.counts[key])
        if statement.share < 1:
            continue
        extents = [level.extent for level in statement.levels]
        assert math.prod(extents) == statement.iterations
        found = [
            (access.memory.buffer.name, reached(access.strides, extents))
            for access in statement.accesses
            if not access.memory.outside  # memory that is used again counts from its own start
        ]
        known = [
            (buffer, elements)
            for (_, buffer), elements in expected.of[key].items()
            if buffer in {other for other, _ in found}
        ]
        assert sorted(buffer for buffer, _ in found) == sorted(buffer for buffer, _ in known)
        for buffer, elements in found:
            low = min(elements)
            shifted = sorted(element - low for element in elements)
            assert any(
                buffer == other and shifted == sorted(e - min(them) for e in them)
                for other, them in known
            ), (buffer, key)


def test_a_copy_takes_the_place_of_the_one_before():
    program = read_program(func_of(programs.tiled_matmul(n=32, panels=2)))
    (pack,) = (s for s in program.statements() if s.name.startswith("B"))
    stored = pack.accesses[0]
    assert stored.memory.outside == 1
    assert stored.strides[0] == 0
    assert pack.accesses[1].strides[0] == 16


def test_initialisations_stand_in_front_of_the_reduction():
    program = read_program(func_of(programs.tiled_matmul(packs=False)))
    init, update = program.statements()
    assert init.initialises
    assert not update.initialises
    names = [loop.var.name for loop in init.loops]
    assert [loop.var.name for loop in update.loops if not loop.reduces] == names
    assert [loop.kind for loop in update.loops[-3:]] == [
        ForKind.UNROLLED, ForKind.UNROLLED, ForKind.VECTORIZED,
    ]  # fmt: skip


def test_a_guard_holds_in_a_part_of_the_iterations():
    sch = tir.Schedule(programs.matmul(10, 7, 3))
    i, j, _ = sch.get_loops("C")
    sch.split(i, [None, 4])
    sch.split(j, [None, 3])
    _, update = read_program(func_of(sch)).statements()
    assert update.share == pytest.approx(10 / 12 * 7 / 9)
    assert [sorted(loop.var.name for loop in guard.loops) for guard in update.guards] == [
        ["i_0", "i_1"], ["j_0", "j_1"],
    ]  # fmt: skip


def test_operations_are_counted_by_kind():
    program = read_program(func_of(programs.softmax()))
    by_name = {s.name: s.operations for s in program.statements() if not s.initialises}
    assert by_name["E"].functions == {"exp": 1}

    def counted(operations):
        from tilewright.tune.feature.operations import NAMES

        return {n: c for n, c in zip(NAMES, operations.counts, strict=True) if c}

    assert counted(by_name["largest"]) == {"float_compare": 1}
    assert counted(by_name["E"]) == {"float_add_sub": 1, "float_math_function": 1}
    assert counted(by_name["total"]) == {"float_add_sub": 1}
    assert counted(by_name["Y"]) == {"float_div_mod": 1}
    _, update = read_program(programs.matmul(2, 2, 2)).statements()
    assert counted(update.operations) == {"float_mad": 1}


def test_conditions_on_indices_are_comparisons():
    inlined = read_program(func_of(programs.convolution(inline=True)))
    *_, update = inlined.statements()
    assert update.operations.comparisons == 4
    assert update.operations.counts[-1] == 1


def test_an_index_that_data_decides_is_scattered():
    X = te.placeholder((16,), name="X")
    where = te.placeholder((8,), "int32", name="where")
    Y = te.compute((8,), lambda i: X[where[i]], name="Y")
    (statement,) = read_program(te.create_prim_func([X, where, Y])).statements()
    scattered = {a.memory.buffer.name: a.scattered for a in statement.accesses}
    assert scattered == {"Y": False, "X": True}


def test_a_symbolic_size_has_a_usual_value():
    n = te.var("n")
    X = te.placeholder((n, 4), name="X")
    Y = te.compute((n, 4), lambda i, j: X[i, j] + 1.0, name="Y")
    (statement,) = read_program(te.create_prim_func([X, Y])).statements()
    assert [loop.extent for loop in statement.loops] == [128, 4]
    assert statement.accesses[0].strides == [4, 1]


def test_a_schedule_remembers_its_nests_until_it_changes():
    sch = programs.tiled_matmul()
    (first,) = programs_of(sch)
    assert programs_of(sch)[0] is first
    sch.split(sch.get_loops("C")[0], [None, 1])
    assert programs_of(sch)[0] is not first
