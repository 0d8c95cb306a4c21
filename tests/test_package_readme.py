"""The README of the package has links that work outside of the repository."""

import sys
from types import ModuleType

import pytest

TEXT = """A [page](docs/page.md#part), a [site](https://example.org) and a [part](#part).

```python
functions["main"](image)
```
"""


@pytest.fixture
def package_readme(monkeypatch):
    plugin = ModuleType("hatchling.metadata.plugin.interface")
    plugin.MetadataHookInterface = object
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    from tools import package_readme

    return package_readme


def test_relative_links_become_absolute(package_readme):
    assert package_readme.with_absolute_links(TEXT, "https://host/us") == TEXT.replace(
        "(docs/page.md#part)", "(https://host/us/blob/main/docs/page.md#part)"
    )
