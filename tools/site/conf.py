"""Settings of Sphinx; `tools.site` passes the language, and `zh` as a tag for pages in Chinese."""

from __future__ import annotations

from typing import Any

from tools.site.chinese import SearchChinese
from tools.site.languages import CHINESE, ENGLISH
from tools.site.project import REPOSITORY, VERSION

IN_CHINESE: bool = tags.has("zh")  # noqa: F821  # pyright: ignore

project = "Tilewright"
author = "Tilewright developers"
version = release = VERSION
language = "zh_CN" if IN_CHINESE else "en"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
locale_dirs = ["../locale"]
nitpicky = True
# Annotations and lists of base classes name classes that have no page.
nitpick_ignore_regex = [("py:class", ".*")]
show_warning_types = True

# A page links to headings of others by the anchors that GitHub gives them.
myst_heading_anchors = 4
# In docstrings, `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "Tilewright"
html_static_path = ["static"]
html_css_files = ["tilewright.css"]
templates_path = ["templates"]
html_copy_source = False
html_show_sphinx = html_show_copyright = False
html_theme_options = {
    "light_logo": "logo.svg",
    "dark_logo": "logo.svg",
    "source_repository": REPOSITORY,
    "top_of_page_buttons": [],
}
html_favicon = "static/logo.svg"
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
pygments_style = "default"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"

_OTHER = ENGLISH if IN_CHINESE else CHINESE
html_context = {
    "in_chinese": IN_CHINESE,
    "pages_of_other_language": {page.with_suffix("").as_posix() for page in _OTHER.pages()},
}


def setup(app: Any) -> None:
    """Let Sphinx know the search in Chinese."""
    app.add_search_language(SearchChinese)
