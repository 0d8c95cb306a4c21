"""Pages in Chinese say what those in English say."""

import pytest
from tools import translations

PAGES = list(translations.pages())
NAMES = [str(page.relative_to(translations.CHINESE)) for page, _ in PAGES]


@pytest.mark.parametrize(("page", "original"), PAGES, ids=NAMES)
def test_pages_are_up_to_date(page, original):
    assert translations.is_up_to_date(page, original), (
        f"{original.name} has changed: translate what is new, then run "
        "python -m tools.translations --accept"
    )


@pytest.mark.parametrize(("page", "original"), PAGES, ids=NAMES)
def test_programs_are_those_of_the_original(page, original):
    assert translations.programs(page) == translations.programs(original)


def test_a_change_makes_a_page_old(tmp_path):
    page, original = tmp_path / "zh.md", tmp_path / "en.md"
    original.write_text("# Text\n")
    page.write_text("# 文本\n")
    for text in ("# Text\n", "# Other text\n"):
        original.write_text(text)
        assert not translations.is_up_to_date(page, original)
        translations.accept(page, original)
        assert translations.is_up_to_date(page, original)
    assert page.read_text().count("translates") == 1
