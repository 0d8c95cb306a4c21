"""The pages of schedule primitives show what really happens, and are up to date."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning
from tools import schedule_pages, schedule_stubs
from tools.schedule_examples import example_code, run_example

from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive


@pytest.mark.parametrize("name", PRIMITIVES)
def test_examples_keep_the_meaning_of_their_program(name):
    example = run_example(name)
    assert_same_meaning(example.program, example.schedule)


def test_pages_are_up_to_date():
    texts = schedule_pages.pages()
    old = {path.name: path.read_text() for path in schedule_pages.DIRECTORY.glob("*.md")}
    stale = [name for name, text in texts.items() if old.get(name) != text]
    assert not stale, "run python -m tools.schedule_pages"


def test_the_stub_of_the_methods_is_up_to_date():
    fresh = schedule_stubs.STUB.read_text() == schedule_stubs.stub()
    assert fresh, "run python -m tools.schedule_stubs"


def test_every_page_is_about_a_primitive():
    names = {path.stem for path in schedule_pages.DIRECTORY.glob("*.md")}
    assert names - {"index", "overview", "requirements"} == set(PRIMITIVES)


def test_a_primitive_without_an_example():
    def nothing(tree):
        """Do nothing."""

    with pytest.raises(LookupError, match="`nothing` needs a section `Example::`"):
        example_code(Primitive(nothing, is_sampling=False))


def test_a_primitive_in_no_group(monkeypatch):
    monkeypatch.setitem(schedule_pages.GROUPS, "Loops", ())
    with pytest.raises(LookupError, match="does not list add_unit_loop, fuse"):
        schedule_pages.pages()
