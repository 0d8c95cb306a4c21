"""`TuneContext` and the base classes of what it consists of."""

import pytest

from tilewright.error import ArgumentValueError, UnknownNameError
from tilewright.script import tir as T
from tilewright.tune.context import TuneContext
from tilewright.tune.mutator import Mutator
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator


@T.prim_func
def scale(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)


class OneSketch(SpaceGenerator):
    def __init__(self):
        self.context = None

    def initialize_with_tune_context(self, context):
        self.context = context

    def generate_design_space(self, mod):
        return [mod]


def test_parts_are_told_the_task():
    generator = OneSketch()
    context = TuneContext(scale, target="llvm", space_generator=generator)
    assert generator.context is context
    assert context.target.kind.name == "llvm"
    (only,) = context.generate_design_space()
    assert only is context.mod


def test_clone_has_parts_of_its_own():
    generator = OneSketch()
    context = TuneContext(scale, space_generator=generator, rand_state=3, num_threads=1)
    other = context.clone()
    assert other.space_generator is not generator
    assert other.space_generator.context is other
    assert generator.context is context
    assert (other.rand_state, other.num_threads) == (3, 1)


def test_a_random_seed_is_another_one_every_time():
    seeds = {TuneContext(scale).rand_state for _ in range(4)}
    assert len(seeds) > 1
    assert min(seeds) >= 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rand_state": -2}, "rand_state"),
        ({"num_threads": 0}, "num_threads"),
        ({"num_threads": "all"}, "num_threads"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ArgumentValueError, match=message):
        TuneContext(scale, **options)


def test_missing_parts_are_named():
    with pytest.raises(ArgumentValueError, match="space_generator"):
        TuneContext(scale).generate_design_space()
    with pytest.raises(ArgumentValueError, match="search_strategy"):
        TuneContext(scale).generate_measure_candidates()
    with pytest.raises(ArgumentValueError, match="mod"):
        TuneContext(space_generator=OneSketch()).generate_design_space()


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="no search strategy 'swarm'"):
        SearchStrategy.create("swarm")
    with pytest.raises(UnknownNameError, match="no space generator 'grid'"):
        SpaceGenerator.create("grid")


def test_methods_to_define_are_named():
    with pytest.raises(NotImplementedError, match="SearchStrategy has to define pre_tuning"):
        SearchStrategy().pre_tuning(1, 1, [])
    with pytest.raises(NotImplementedError, match="generate_design_space"):
        SpaceGenerator().generate_design_space(None)
    with pytest.raises(NotImplementedError, match="apply"):
        Mutator().apply(None)
