"""What the base class of errors adds to them."""

import sys
import traceback
from types import ModuleType, SimpleNamespace

import pytest

from tilewright import tir
from tilewright.error import InternalError
from tilewright.script import tir as T


@T.prim_func
def prefix_sums(A: T.Buffer((8,))):
    for i in range(7):
        with T.block("A"):
            vi = T.axis.spatial(7, i)
            A[vi + 1] = A[vi + 1] + A[vi]


def test_notebooks_show_the_frames_of_the_user():
    schedule = tir.Schedule(prefix_sums)
    with pytest.raises(tir.ScheduleError) as caught:
        schedule.parallel(schedule.get_loops("A")[0])
    error = caught.value
    assert len(traceback.extract_tb(error.__traceback__)) > 1
    *frames, message = error._render_traceback_()
    assert len(frames) == 1
    assert 'schedule.parallel(schedule.get_loops("A")[0])' in frames[0]
    assert message == f"ScheduleError: {error}"


def test_notebooks_show_the_names_of_cells(monkeypatch):
    ipython = ModuleType("IPython")
    names = SimpleNamespace(format_code_name={__file__: ("Cell", "In[3]")}.get)
    ipython.get_ipython = lambda: SimpleNamespace(compile=names)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with pytest.raises(tir.ScheduleError) as caught:
        tir.Schedule(prefix_sums).get_block("B")
    assert caught.value._render_traceback_()[0].startswith("  Cell In[3], line ")


def test_notebooks_show_all_frames_of_a_defect():
    namespace = {"InternalError": InternalError}
    code = compile("raise InternalError('boom')", tir.__file__, "exec")
    with pytest.raises(InternalError) as caught:
        exec(code, namespace)
    assert tir.__file__ in "".join(caught.value._render_traceback_())
