"""Building in processes."""

import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.tune.measure.programs import (
    add_one,
    broken_initializer,
    build_as_named,
    export_library,
    leave_a_mark,
    module,
    named,
    to_build,
)

from tilewright import TVMError
from tilewright.driver.build_module import build
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError
from tilewright.runtime.loading import load_object
from tilewright.target import Target
from tilewright.tune.measure import Builder, BuilderInput, LocalBuilder


def test_an_artifact_computes_what_the_module_says(builder):
    (result,) = builder.build([to_build(add_one)])
    assert result.error_msg is None
    assert result.seconds > 0
    source, target = np.ones((64, 64), "float32"), np.zeros((64, 64), "float32")
    load_object(result.artifact_path)(source, target)
    np.testing.assert_array_equal(target, source + 1)


def test_artifacts_are_in_directories_of_their_own(builder):
    first, second = builder.build([to_build(add_one)] * 2)
    parents = {Path(first.artifact_path).parent, Path(second.artifact_path).parent}
    assert len(parents) == 2
    assert all(len(list(parent.iterdir())) == 1 for parent in parents)


def test_each_failure_costs_its_candidate_only():
    builder = LocalBuilder(f_build=build_as_named, timeout_sec=2, max_workers=2)
    names = ["good", "aborts", "raises", "exits", "sleeps", "good"]
    results = builder.build([named(name) for name in names])
    builder.close()
    kinds = [result.error_kind for result in results]
    assert kinds == [None, "crash", "build", "crash", "build-timeout", None]
    messages = [result.error_msg for result in results]
    assert "SIGABRT" in messages[1]
    assert messages[2].splitlines()[0] == "ValueError: no code for this"
    assert "build_as_named" in messages[2]
    assert "ended with status 3" in messages[3]
    assert messages[4] == "building took longer than 2 s"


def test_limits_of_one_build():
    builder = LocalBuilder(f_build=build_as_named, max_workers=2)
    late = time.monotonic() - 1
    results = builder.build([
        named("computes", cpu_seconds=0.1), named("good", cpu_seconds=60),
        named("sleeps", deadline=time.monotonic() + 0.5), named("good", deadline=late),
    ])  # fmt: skip
    builder.close()
    kinds = [result.error_kind for result in results]
    assert kinds == ["build-timeout", None, "build-timeout", "build-timeout"]
    assert results[0].error_msg == "building took more than 0.1 s of processor time"
    assert results[1].cpu_seconds > 0


def test_results_come_as_they_get_ready():
    builder = LocalBuilder(f_build=build_as_named, timeout_sec=20, max_workers=2)
    stream = builder.stream([named("sleeps"), named("good"), named("good")])
    assert [next(stream)[0], next(stream)[0]] == [1, 2]
    start = time.monotonic()
    stream.close()  # the one that sleeps is not waited for
    assert time.monotonic() - start < 3.0
    assert builder.build([named("good")])[0].error_msg is None
    builder.close()


def test_what_a_target_cannot_do_is_told(builder):
    (result,) = builder.build([BuilderInput(module(add_one), Target("metal"))])
    assert result.error_kind == "build"
    assert "metal" in result.error_msg.splitlines()[0]


def test_functions_of_the_user(tmp_path):
    marks, library = tmp_path / "marks", str(tmp_path / "candidate.so")
    builder = LocalBuilder(
        f_export=partial(export_library, path=library),
        initializer=partial(leave_a_mark, marks),
        max_workers=1,
    )
    results = builder.build([to_build(add_one)] * 2)
    builder.close()
    assert [result.artifact_path for result in results] == [library] * 2
    assert marks.read_text() == "called\n"


def test_an_initializer_that_fails_is_the_users_to_know():
    builder = LocalBuilder(initializer=broken_initializer)
    with pytest.raises(TVMError, match="LocalBuilder: initializer: RuntimeError: not today"):
        builder.build([to_build(add_one)])


def test_local_functions_of_the_user(tmp_path):
    calls = {"count": 0}
    marks = tmp_path / "marks"

    def note(text, depth=2, *, end="\n"):
        if depth:
            note(text, depth - 1)  # which refers to itself
        else:
            marks.write_text(text + end)

    def f_build(mod, target, params):
        calls["count"] += 1
        note(f"{len(list(mod.functions))} function, call {calls['count']}")
        return build(mod, target=target)

    builder = LocalBuilder(
        f_build=f_build, f_export=lambda module: export_library(module, str(tmp_path / "a.so")),
        max_workers=1,
    )  # fmt: skip
    results = builder.build([to_build(add_one)] * 2)
    builder.close()
    assert [result.error_msg for result in results] == [None, None]
    assert marks.read_text() == "1 function, call 2\n"
    assert calls == {"count": 0}  # what the function changes is of the other process


def test_functions_that_a_process_cannot_get_are_refused():
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"LocalBuilder: f_build runs in another .*lock"):
        LocalBuilder(f_build=lambda mod, target, params: lock)
    with pytest.raises(UnknownNameError, match=r"f_build: no function .* 'unknown'.*initializer"):
        LocalBuilder(f_build="unknown")
    builder = LocalBuilder(f_build="unknown", initializer=print)
    with pytest.raises(TVMError, match="no function is registered under 'unknown'"):
        builder.build([to_build(add_one)])
    with pytest.raises(ArgumentError, match="f_export is a function or a registered name, got 3"):
        LocalBuilder(f_export=3)
    with pytest.raises(ArgumentValueError, match="max_workers is at least 1"):
        LocalBuilder(max_workers=0)


def test_a_builder_by_its_name():
    assert isinstance(Builder.create("local", timeout_sec=3), LocalBuilder)
