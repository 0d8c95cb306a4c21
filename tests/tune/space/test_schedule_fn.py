"""Spaces that users describe: by functions, by classes, and several as one."""

import pytest
from tests.tune.programs import matmul

from tilewright.error import ArgumentError
from tilewright.tune.context import TuneContext
from tilewright.tune.space import ScheduleFn, SpaceGenerator, SpaceGeneratorUnion


def tile(sch):
    i, _, _ = sch.get_loops("C")
    sch.split(i, sch.sample_perfect_tile(i, n=2))


def tile_columns(sch):
    _, j, _ = sch.get_loops("C")
    sch.split(j, sch.sample_perfect_tile(j, n=2))
    return sch


def both(sch):
    other = sch.copy()
    tile(sch)
    return [sch, tile_columns(other)]


def sketches_of(generator):
    context = TuneContext(matmul, target="llvm", space_generator=generator, rand_state=1)
    return context.generate_design_space()


@pytest.mark.parametrize(("function", "count"), [(tile, 1), (tile_columns, 1), (both, 2)])
def test_a_function_returns_nothing_a_schedule_or_a_list(function, count):
    sketches = sketches_of(ScheduleFn(function))
    assert len(sketches) == count
    assert all(inst.kind.name == "split" for inst in [s.trace.insts[-1] for s in sketches])


def test_a_function_is_a_space():
    assert isinstance(SpaceGenerator.create(tile), ScheduleFn)
    assert len(sketches_of(both)) == 2


def test_samples_repeat_with_the_seed():
    one, other = sketches_of(tile), sketches_of(tile)
    assert str(one[0].trace) == str(other[0].trace)


def test_something_else_is_refused():
    with pytest.raises(ArgumentError, match="returns None, a schedule, or a list"):
        sketches_of(ScheduleFn(lambda sch: 3))
    with pytest.raises(ArgumentError, match="expected a function"):
        ScheduleFn(3)


def test_union_has_the_sketches_of_all():
    union = SpaceGeneratorUnion([ScheduleFn(tile), tile_columns, ScheduleFn(tile)])
    sketches = sketches_of(union)
    # Equal sketches are there once.
    assert len(sketches) == 2
    assert SpaceGenerator.create("union", [tile]).space_generators[0].sch_fn is tile
    clone = union.clone()
    assert clone.space_generators[0] is not union.space_generators[0]
    with pytest.raises(ArgumentError, match="list of space generators"):
        SpaceGeneratorUnion([])


def test_users_define_generators():
    class Mine(SpaceGenerator):
        def generate_design_space(self, mod):
            sch = self.fresh_schedule(mod)
            tile(sch)
            return [sch]

    mine = Mine()
    (sketch,) = sketches_of(mine)
    assert sketch.trace.insts[-1].kind.name == "split"
    # Mutators and postprocessors are those of the target.
    assert isinstance(mine.mutator_probs, dict)
    assert isinstance(mine.postprocs, list)
