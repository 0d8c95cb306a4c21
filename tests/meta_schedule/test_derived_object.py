"""Parts of the tuner that users define."""

from __future__ import annotations

import pytest

from tilewright import meta_schedule as ms
from tilewright.error import ArgumentError


def test_the_class_itself_is_returned():
    @ms.derived_object
    class Half(ms.mutator.PyMutator):
        def apply(self, trace, random_state=None):
            return None

    assert Half().apply(None) is None
    assert issubclass(Half, ms.Mutator)

    @ms.derived_object
    class Quarter(Half):
        pass

    assert isinstance(Quarter(), ms.Mutator)


def test_what_is_missing():
    with pytest.raises(ArgumentError, match="Lazy does not define done, as a RunnerFuture does"):

        @ms.derived_object
        class Lazy(ms.runner.PyRunnerFuture):
            def result(self):
                return None


def test_classes_that_are_no_part_of_the_tuner():
    with pytest.raises(ArgumentError, match="Other derives from no part of the tuner, such as Py"):

        @ms.derived_object
        class Other:
            pass

    with pytest.raises(ArgumentError, match="derive a class from CostModel"):
        ms.derived_object(ms.CostModel)
