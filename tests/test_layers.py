"""Imports between packages go one way."""

import ast
import re
from pathlib import Path

import pytest

import tilewright

ROOT = Path(tilewright.__file__).parent

LAYERS = {
    "error": set(),
    "garbage": set(),
    "providers": set(),
    "operating_system": set(),
    "ir": {"error", "garbage", "providers"},
    "arith": {"ir"},
    "tir": {"arith"},
    "target": {"tir"},
    "script": {"tir", "target"},
    "runtime": {"target", "operating_system"},
    "nd": {"runtime"},
    "processes": {"runtime"},
    "te": {"tir", "target", "schedule_rules"},
    "tensor_intrin": {"script"},
    "topi": {"te", "script"},
    "transform": {"ir"},
    "schedule_rules": {"tir", "target"},
    "driver": {"processes", "te", "script", "topi", "schedule_rules"},
    "container": {"ir"},
    "contrib": {"runtime"},
    "_ffi": {"runtime"},
    "dlight": {"schedule_rules"},
    "testing": {"driver", "nd"},
    "relax": {"driver"},
    "tune": {"driver"},
    "meta_schedule": {"tune", "relax"},
    "auto_scheduler": {"meta_schedule"},
    "autotvm": {"tune"},
    "cli": {"auto_scheduler", "autotvm"},
    "__main__": {"cli"},
    "as_tvm": set(),
    "relay": set(),
}
"""What each package may import directly; what those import is allowed too."""


def allowed(layer: str) -> set[str]:
    """`layer` and everything below it."""
    found = {layer}
    for below in LAYERS[layer]:
        found |= allowed(below)
    return found


DOORS = {"script/relax.py": "relax", "script/ir_builder/relax.py": "relax"}
"""Files of a package that belong to another layer: there users look for what is defined above."""


KNOWS_ALL = {"script/__init__.py": {"relax"}, "script/ir_builder/__init__.py": {"relax"}}
"""Upward imports that are right: type checkers are told which names these packages have."""


def layer_of(relative: Path) -> str:
    """The layer that a file belongs to."""
    return DOORS.get(relative.as_posix(), relative.parts[0].removesuffix(".py"))


def layer_of_import(module: str) -> str:
    """The layer that ``import module`` uses."""
    path = module.removeprefix("tilewright.").replace(".", "/")
    return DOORS.get(f"{path}.py", path.split("/")[0])


def imports_of(path: Path) -> set[str]:
    """The layers that a file imports: anywhere, for type checkers only, or by a string."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and is_module_name(node.value):
            names = [str(node.value)]
        found |= {layer_of_import(n) for n in names if n.startswith("tilewright.")}
    return found


def is_module_name(value: object) -> bool:
    """Whether a constant names a module of the package, as for `import_module`."""
    is_name = isinstance(value, str) and re.fullmatch(r"tilewright(\.\w+)+", value)
    return bool(is_name) and layer_of_import(str(value)) in LAYERS


def test_imports_go_one_way():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        layer = layer_of(relative)
        if layer == "__init__":
            continue
        assert layer in LAYERS, f"{relative}: add {layer!r} to LAYERS"
        upward = imports_of(path) - allowed(layer) - KNOWS_ALL.get(relative.as_posix(), set())
        wrong += [f"{relative} imports {n}" for n in upward]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from tilewright.te import compute\n",
        "if TYPE_CHECKING:\n    import tilewright.te.tensor\n",
        "te = importlib.import_module('tilewright.te')\n",
    ],
)
def test_the_check_finds_hidden_imports(tmp_path, text):
    bad = tmp_path / "bad.py"
    bad.write_text(text)
    assert imports_of(bad) - allowed("ir") == {"te"}


def test_the_check_finds_an_upward_import(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from tilewright.te import compute\n")
    assert imports_of(bad) - allowed("ir") == {"te"}


def test_the_check_finds_an_import_through_a_door(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("from tilewright.script import relax, tir\n")
    assert imports_of(bad) - allowed("script") == {"relax"}


def test_ranges_of_known_extent_are_made_as_such():
    # `Range(a, b)` ends before `b`, for users; the compiler works with `Range.from_min_extent`.
    calls = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in ROOT.rglob("*.py")
        if "Range(" in (text := path.read_text())  # parsing all files takes seconds
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", getattr(call.func, "attr", "")) == "Range"
        and len(call.args) == 2
    ]
    assert calls == []
