"""Searching text in Chinese, which has no spaces between words.

The index has all characters and all pairs of adjacent characters; a query is the pairs that are in
it. No dictionary is needed, and a term of the field is found whether or not a dictionary has it.
"""

from __future__ import annotations

import re
from typing import Final

from sphinx.search import SearchLanguage

HAN: Final = r"\u3400-\u9fff"
RUN: Final = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")


def words(text: str) -> list[str]:
    """What text is found by: words of other scripts, characters, and pairs of them."""
    found: list[str] = []
    for run in RUN.findall(text):
        if re.match(rf"[{HAN}]", run):
            found += run
            found += (run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.append(run)
    return found


class SearchChinese(SearchLanguage):
    """The index of text in Chinese."""

    lang = "zh"
    language_name = "Chinese"
    js_splitter_code = r"""
function splitQuery(query) {
  const runs = query.match(/[\u3400-\u9fff]+|[^\s\u3400-\u9fff\p{P}]+/gu) || [];
  return runs.flatMap((run) =>
    /^[\u3400-\u9fff]{3,}/.test(run)
      ? Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2))
      : [run],
  );
}
"""

    def split(self, input: str) -> list[str]:
        """The words of a text."""
        return words(input)

    def stem(self, word: str) -> str:
        """A word as it is in the index."""
        return word.lower()
