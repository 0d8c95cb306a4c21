"""The passes that prepare a module of graphs for compilation, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import Pass, Sequential, module_pass
from tilewright.relax import transform
from tilewright.target import Target


def zero() -> Pass:
    """Make few, large kernels, suited to the vectors and dot products of the machine."""
    return Sequential(
        [
            # Simplify the graph while it still says what is meant.
            transform.FoldBatchnormToConv2D(),  # while a normalisation is still one operator
            transform.DecomposeOpsForInference(),  # the others: what depends on weights only
            transform.CanonicalizeBindings(),  # a second name hides what something is from the rest
            transform.FakeQuantizationToInteger(if_fast=True),  # while weights are integers
            transform.ConvertToDataflow(
                min_size=1
            ),  # what follows moves things in such blocks only
            transform.EliminateCommonSubexpr(),  # while calls are short: attributes, no kernels
            transform.FoldConstant(),  # last of these: weights that were rearranged are weights
            transform.FoldRequantization(),  # when scales are constants
            transform.ChannelsLast(),  # when weights are constants, which cost nothing to move
            transform.PatchConv2DToMatmul(),  # of those without channels last
            transform.PointwiseConv2DToMatmul(),  # of those with channels last
            transform.WinogradConv2D(),  # of those with channels last, and constant weights
            transform.FuseTransposeMatmul(),  # of what is not constant and has no other use
            transform.DeadCodeElimination(),  # a user that does nothing still keeps kernels apart
            # From operators to kernels.
            transform.LegalizeOps(),  # one tensor program for each operator
            transform.AnnotateTIROpPattern(),  # how each reads its arguments, which fusion asks
            transform.FuseOps(),  # which of them are computed together
            transform.FuseTIR(),  # in one tensor program, whose intermediate values stay close
            transform.RewriteDataflowReshape(),  # what is left alone of them need not move anything
            transform.DeadCodeElimination(),  # last: what was replaced has no users any more
        ],
        name="zero",
    )


def default_build() -> Pass:
    """The default pipeline of `relax.build`: `zero`, and the passes that execution needs."""
    return Sequential(
        [
            zero(),
            # For one machine.
            transform.MetaScheduleApplyDatabase(),  # what was tuned, if a database is in scope
            transform.PackConstants(),  # weights as the schedules of their kernels read them
        ],
        name="default_build",
    )


def static_shape_tuning(
    total_trials: int,
    target: Any,
    work_dir: str = "tuning_logs",
    max_trials_per_task: int | None = None,
) -> Pass:
    """`zero`, followed by a search for the best schedule of each kernel.

    Args:
        total_trials: how many candidates are measured at most.
        target: the machine.
        work_dir: a directory for the records and the logs.
        max_trials_per_task: how many candidates of each kernel.
    """
    machine = Target(target)
    tune = Sequential(
        [
            zero(),
            transform.MetaScheduleTuneIRMod({}, work_dir, total_trials, max_trials_per_task),
            transform.MetaScheduleApplyDatabase(work_dir),
            transform.PackConstants(),
        ],
        name="static_shape_tuning",
    )

    def for_the_machine(mod: IRModule, ctx: PassContext) -> IRModule:
        with machine:
            return tune(mod)

    return module_pass(for_the_machine, name="static_shape_tuning")


_PIPELINES: Final[dict[str, Callable[..., Pass]]] = {
    "zero": zero,
    "default_build": default_build,
    "static_shape_tuning": static_shape_tuning,
}


def get_pipeline(name: str = "zero", **options: Any) -> Pass:
    """The pipeline of that name, a pass.

    Args:
        name: ``"zero"``, ``"default_build"``, ``"static_shape_tuning"``, or a registered one.
        **options: arguments of the function that makes it.

    Raises:
        UnknownNameError: if there is no such pipeline.
    """
    make = _PIPELINES.get(name)
    if make is None:
        hint = did_you_mean(name, _PIPELINES, f"; there are {list(_PIPELINES)}")
        raise UnknownNameError(f"there is no pipeline {name!r}{hint}")
    pipeline = make(**options)
    if not isinstance(pipeline, Pass):
        raise ArgumentError(f"the function of pipeline {name!r} must give a pass: {pipeline!r}")
    return pipeline


def register_pipeline(name: str) -> Callable[[Callable[..., Pass]], Callable[..., Pass]]:
    """Decorator: a function that makes a pass gives the pipeline `name`."""
    if name in _PIPELINES:
        raise ArgumentError(f"there is a pipeline {name!r} already")

    def register(make: Callable[..., Pass]) -> Callable[..., Pass]:
        _PIPELINES[name] = make
        return make

    return register
