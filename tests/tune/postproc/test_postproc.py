"""What postprocessors are to the tuner, and those of users."""

import pytest

import tilewright
from tilewright.target import Target
from tilewright.tune.context import TuneContext
from tilewright.tune.postproc import Postproc


class Refuse(Postproc):
    """A postprocessor of a user."""

    def apply(self, sch):
        return False


def test_the_base_class_says_what_to_define():
    with pytest.raises(NotImplementedError, match=r"Postproc has to define apply\(self, sch\)"):
        Postproc().apply(None)


def test_an_unknown_kind_of_target_is_refused():
    with pytest.raises(tilewright.TVMError, match="no list of postprocessors for 'lvm'"):
        Postproc.create("lvm")


def test_a_clone_is_for_another_task():
    postproc = Refuse()
    assert postproc.target == Target("llvm")
    postproc.initialize_with_tune_context(TuneContext(target="llvm -num-cores=3"))
    clone = postproc.clone()
    clone.initialize_with_tune_context(TuneContext(target="llvm -num-cores=4"))
    assert (postproc.target.num_cores, clone.target.num_cores) == (3, 4)
    assert type(clone) is Refuse
