"""Pages as the site has them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.site import links, pages
from tools.site.languages import CHINESE, ENGLISH, ROOT
from tools.site.project import SOURCES


def test_links_of_pages_lead_from_the_site_to_where_they_lead_in_the_repository():
    page = Path("tutorials/models.md")
    text = (
        "[a](../graphs.md#what) [b](../../CONTRIBUTING.md) [c](https://host/x) "
        "[d](../notebooks/three_tuners.ipynb) [e](../zh/index.md) [f](../schedule/programs.py)\n"
        "```python\na[0](graphs.md)\n```\n"
    )
    assert pages.page_of_site(ENGLISH, Path("guide.md"), "[a](te.md)\n") == "[a](te.md)\n"
    site = pages.page_of_site(ENGLISH, page, f"# Title\n{text}")
    assert "[a](../graphs.md#what)" in site
    assert f"[b]({SOURCES}/CONTRIBUTING.md)" in site
    assert "[c](https://host/x)" in site
    assert 'href="../notebooks/three_tuners.html">d</a>' in site
    assert 'href="../zh/index.html">e</a>' in site
    assert f"[f]({SOURCES}/docs/schedule/programs.py)" in site
    assert "a[0](graphs.md)" in site
    assert 'href="../notebooks/tutorials/models.ipynb"' in site


def test_pages_in_chinese_link_to_english_ones_and_have_no_spaces_for_line_breaks():
    text = (
        "[图](../../graphs.md)和[模型](models.md)，\n**两者**\n[都](models.md)、\n[图](../../graphs.md)。\n"
        "Text\nmore\n"
    )
    site = pages.page_of_site(CHINESE, Path("tutorials/templates.md"), f"# 标题\n{text}")
    assert 'href="../../graphs.html">图</a>和[模型](models.md)，**两者**[都](' in site
    assert "、<a" in site
    assert site.endswith("。\nText\nmore\n")
    assert 'href="../../notebooks/zh/templates.html"' in site


def test_the_navigation_is_the_lists_of_a_page():
    text = "# T\n\n[x](x.md)\n\n## One\n\n* [a](a.md): [b](b.md)\n  [c](c/d.md)\n\n## Two\n\ntext\n"
    (only,) = pages.navigation_of(text)
    assert only == "\n```{toctree}\n:hidden:\n:caption: One\n\na\nb\nc/d\n```\n"


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=lambda language: language.name)
def test_every_page_is_in_a_list(language):
    all_pages = {page.with_suffix("").as_posix() for page in language.pages()}
    listed = set()
    for page in language.pages():
        text = (language.sources / page).read_text(encoding="utf-8")
        site = pages.page_of_site(language, page, text)
        for entries in re.findall(r"```{toctree}\n(?::[^\n]*\n)*\n(.*?)\n```", site, re.DOTALL):
            listed |= {(page.parent / entry).as_posix() for entry in entries.split()}
    assert listed - all_pages <= {"reference/index"}  # which is made of docstrings
    assert all_pages - listed == {"index"}


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("b.html#part", True), ("b.html#%E9%83%A8", True), ("sub/", True), ("#here", True),
        ("picture.svg", True), ("https://host/x", True), ("b.html#other", False),
        ("c.html", False), ("sub/c.html", False),
    ],
)  # fmt: skip
def test_links_that_lead_nowhere(tmp_path, link, leads):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(f'<h1 id="here"></h1><a href="{link}">x</a>')
    (tmp_path / "b.html").write_text('<h1 id="part"></h1><h1 id="部"></h1>')
    (tmp_path / "sub" / "index.html").write_text("")
    (tmp_path / "picture.svg").write_text("")
    assert links.broken_links(tmp_path) == ([] if leads else [f"a.html: {link}"])


def test_sphinx_finds_nothing_wrong_with_the_pages_and_the_reference():
    pytest.importorskip("sphinx")
    found = subprocess.run(
        [sys.executable, "-m", "tools.site", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
