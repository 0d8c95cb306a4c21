"""What schedule rules are to the tuner, and rules of users."""

import pytest

import tilewright
from tilewright.target import Target
from tilewright.tune.context import TuneContext
from tilewright.tune.rule import ScheduleRule


class Nothing(ScheduleRule):
    """A rule of a user."""

    def apply(self, sch, block):
        return [sch]


def test_the_base_class_says_what_to_define():
    with pytest.raises(NotImplementedError, match=r"ScheduleRule has to define apply\(self, sch"):
        ScheduleRule().apply(None, None)


def test_an_unknown_kind_of_target_is_refused():
    with pytest.raises(tilewright.TVMError, match="no list of schedule rules for 'lvm'"):
        ScheduleRule.create("lvm")


def test_a_rule_knows_its_target():
    rule = Nothing()
    assert rule.target == Target("llvm")
    with Target("llvm -num-cores=7"):
        assert rule.target.num_cores == 7
        rule.initialize_with_tune_context(TuneContext(target="llvm -num-cores=3"))
        assert rule.target.num_cores == 3


def test_a_clone_is_for_another_task():
    rule = Nothing()
    rule.initialize_with_tune_context(TuneContext(target="llvm -num-cores=3"))
    clone = rule.clone()
    clone.initialize_with_tune_context(TuneContext(target="llvm -num-cores=4"))
    assert (rule.target.num_cores, clone.target.num_cores) == (3, 4)
    assert type(clone) is Nothing
