"""Applying rules to programs, and checking what comes out."""

from __future__ import annotations

import numpy as np
from tests.tir.schedule.checking import assert_equal_results, results_of

import tilewright as tvm
from tilewright import tir
from tilewright.ir import IRModule
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.schedule import ScheduleError
from tilewright.tune.context import TuneContext
from tilewright.tune.postproc import Postproc

ONE_CORE = "llvm -mcpu=sapphirerapids -num-cores=1"
FOUR_CORES = "llvm -mcpu=sapphirerapids -num-cores=4"


def sketches_of(func, rules, target=ONE_CORE):
    """The schedules that rules make of a function, each applied to all of its blocks."""
    context = TuneContext(func, target=target)
    for rule in rules:
        rule.initialize_with_tune_context(context)
    first = tir.Schedule(context.mod, seed=1, error_render_level="none")
    places = [
        (tree.name, realize.block.name_hint)
        for tree in (first.state.tree(var.name_hint) for var in first.state.functions)
        for realize in reversed(tree.blocks())
    ]
    found = [first]
    for rule in rules:
        for place in places:
            found = [after for sch in found for after in _applied(rule, sch, place)]
    return found


def _applied(rule, sch, place):
    function, name = place
    if all(realize.block.name_hint != name for realize in sch.state.tree(function).blocks()):
        return [sch]  # it was inlined
    return rule.apply(sch, sch.get_block(name, function))


def resampled(sch, seed):
    """A schedule with the same trace and other decisions; None if they are not legal."""
    other = tir.Schedule(_module_before(sch), seed=seed, error_render_level="none")
    try:
        sch.trace.apply_to_schedule(other, decision_provider=lambda *_: None)
    except ScheduleError:
        return None
    return other


def _module_before(sch):
    return IRModule(dict(sch.state._source.functions))


def finished(sch, postprocs=None, target=ONE_CORE):
    """Whether postprocessors accept a schedule, which they change."""
    context = TuneContext(target=target)
    sch.enter_postproc()
    for postproc in Postproc.create("llvm") if postprocs is None else postprocs:
        postproc.initialize_with_tune_context(context)
        if not postproc.apply(sch):
            return False
    return True


def assert_candidates_right(func, rules, postprocs=None, target=ONE_CORE, tries=2, runs=None):
    """Check that all sketches, and candidates with other decisions, mean what `func` means.

    Args:
        func: the program.
        rules: the rules.
        postprocs: what is applied afterwards; by default that for CPUs.
        target: what the schedules are for.
        tries: how many candidates with random decisions there are for each sketch.
        runs: given a function, compiles and runs it; by default the interpreter does.

    Returns:
        The sketches, before the postprocessors.
    """
    run = runs or results_of
    expected = results_of(func)
    sketches = sketches_of(func, rules, target)
    for sch in sketches:
        candidates = [sch.copy(), *(resampled(sch, seed) for seed in range(1, 1 + tries))]
        for candidate in candidates:
            if candidate is None or not finished(candidate, postprocs, target):
                continue
            made = candidate.mod["main"]
            verify_well_formed(made)
            assert_equal_results(expected, run(made))
            again = tir.Schedule(func)
            candidate.trace.apply_to_schedule(again)
            tvm.ir.assert_structural_equal(again.mod, candidate.mod)
    return sketches


def compiled_results(func):
    """What `results_of` gives, by native code for this machine."""
    random = np.random.default_rng(0)
    arguments = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = tuple(int(extent.value) for extent in buffer.shape)
        arguments.append(random.integers(-8, 9, shape).astype(str(buffer.dtype)))
    built = tvm.build(func.with_attr("tir.is_scheduled", True), target="llvm")
    arrays = [tvm.nd.array(argument) for argument in arguments]
    built[func.attrs["global_symbol"]](*arrays)
    return [array.numpy() for array in arrays]


def names_of(sch):
    """The names of the blocks of ``main``."""
    return [r.block.name_hint for r in sch.state.tree("main").blocks()][1:]
