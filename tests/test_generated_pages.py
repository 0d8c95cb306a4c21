"""Drawings and licences are what their programs make."""

import re

import pytest
from tools import drawings, licences


@pytest.mark.parametrize("make", drawings.DRAWINGS, ids=lambda make: make.__name__)
def test_drawings_are_up_to_date(make):
    path = drawings.DIRECTORY / f"{make.__name__}.svg"
    assert path.read_text(encoding="utf-8") == make().svg(), "run python -m tools.drawings"


def test_every_requirement_is_listed_with_what_it_is_for():
    page = licences.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| (.*?) \| ", page, re.MULTILINE)[1:]
    assert rows == list(licences.requirements()), "run python -m tools.licences"
    assert ("numpy", "everything") in rows
    assert ("torch", "`[torch]`") in rows
