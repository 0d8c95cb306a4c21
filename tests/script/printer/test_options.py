"""Options of script(), underlining, names, and show()."""

import sys
from types import SimpleNamespace

import pytest
from tests.ir.random_trees import random_function

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir import DType, IRModule, Var, const, walk
from tilewright.ir.convert import attributes
from tilewright.script.printer import display, script, show
from tilewright.script.printer.display import END, START, finish
from tilewright.script.printer.names import NameTable
from tilewright.tir import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterType,
    IterVar,
    PrimFunc,
    Range,
    decl_buffer,
    seq,
)

I32 = DType("int32")


def program():
    """A function with a nest of two loops around a block."""
    A = decl_buffer((4, 8), name="A")
    a, i, j = Var("a", DType("handle")), Var("i", I32), Var("j", I32)
    iters = [
        IterVar(Range.from_extent(n), Var(f"v{k}", I32), IterType.DATA_PAR)
        for k, n in (("i", 4), ("j", 8))
    ]
    vi, vj = (it.var for it in iters)
    body = A.vstore((vi, vj), A[vi, vj] + 1)
    block = Block(tuple(iters), (A[vi, vj : vj + 1],), (A[vi, vj : vj + 1],), "B", body)
    stmt = BlockRealize((i, j), const(True), block)
    for var, extent in ((j, 8), (i, 4)):
        stmt = For(var, const(0), const(extent), ForKind.SERIAL, stmt)
    root = BlockRealize((), const(True), Block((), (), (), "root", stmt))
    return PrimFunc((a,), root, None, {a: A}, attributes({"global_symbol": "main"}))


def find(kind, function=None):
    return [n for n in walk((function or program()).body) if isinstance(n, kind)]


class TestOptions:
    def test_prefixes(self):
        text = script(IRModule({"main": program()}), tir_prefix="tir", ir_prefix="ir")
        assert "# from tilewright.script import ir as ir\n" in text
        assert "# from tilewright.script import tir as tir\n" in text
        assert "@ir.ir_module" in text
        assert "tir.grid(4, 8)" in text
        assert "T." not in text

    def test_names(self):
        assert "class Net:" in script(IRModule({"main": program()}), name="Net")
        private = program().without_attr("global_symbol")
        assert "def kernel(" in private.script(name="kernel")

    def test_dtypes_that_are_not_written(self):
        A = decl_buffer((4,), "float16", name="A")
        stmt = A.vstore(const(0, "int64"), const(1.5, "float16"))
        text = script(stmt, buffer_dtype="float16", int_dtype="int64", float_dtype="float16")
        assert text == "A = T.Buffer((T.int32(4),))\nA[0] = 1.5"

    def test_without_sugar(self):
        text = script(program(), syntax_sugar=False)
        assert "def main(a: T.handle):" in text
        assert "    for i in range(4):\n        for j in range(8):\n" in text
        assert "vi = T.axis.spatial(4, i)" in text
        assert "T.grid" not in text
        assert "remap" not in text

    def test_indentation_and_line_numbers(self):
        text = script(program(), indent_spaces=2, print_line_numbers=True)
        lines = text.split("\n")
        assert lines[0] == " 1  # from tilewright.script import tir as T"
        assert lines[1] == " 2"
        assert lines[4].startswith(" 5    # with T.block")
        assert lines[-1].startswith(f"{len(lines):2}  ")

    def test_addresses(self):
        f = program()
        buffer = f.buffer_map[f.params[0]]
        assert f"A_{id(buffer):#x}[" in script(f, show_object_address=True)

    @pytest.mark.parametrize("option", ["indent_space", "tirprefix", "nonsense"])
    def test_unknown_options_are_refused(self, option):
        with pytest.raises(ArgumentError, match=option):
            script(program(), **{option: 1})

    def test_bad_values_are_refused(self):
        with pytest.raises(ArgumentError, match="at least 1"):
            script(program(), indent_spaces=0)
        with pytest.raises(ArgumentError, match="not IR"):
            script(3)

    def test_black_format_is_accepted(self):
        assert script(program(), black_format=True) == script(program())


class TestAnnotating:
    def test_a_comment_stands_at_the_line_of_its_node(self):
        function = program()
        store, loop = find(BufferStore, function)[0], find(For, function)[1]
        notes = {store: "an increment", store.value: "of one", loop: "the inner\nloop"}
        lines = [line.strip() for line in script(function, obj_to_annotate=notes).split("\n")]
        assert "A[vi, vj] = A[vi, vj] + T.float32(1.0)  # of one; an increment" in lines
        assert "for j in range(8):  # the inner loop" in lines
        without = "\n".join(line.partition("  # ")[0] for line in lines)
        assert "T.grid" not in without

    def test_a_function_and_an_underline(self):
        function = program()
        lines = script(
            function, obj_to_annotate={function: "here"}, obj_to_underline=function
        ).split("\n")
        position = next(k for k, line in enumerate(lines) if line.endswith("  # here"))
        assert lines[position + 1] == "^" * len(lines[position].removesuffix("  # here"))

    def test_what_is_no_dictionary(self):
        assert script(program(), obj_to_annotate=None) == script(program())
        with pytest.raises(ArgumentError, match="obj_to_annotate is a dictionary"):
            script(program(), obj_to_annotate=[1])


class TestUnderlining:
    def check(self, function, item, line, marked):
        """`line` is followed by carets under `marked`."""
        lines = script(function, obj_to_underline=item).split("\n")
        position = next(k for k, text in enumerate(lines) if text.strip() == line)
        below, start = lines[position + 1], lines[position].index(marked)
        assert below == " " * start + "^" * len(marked)
        assert sum("^" in text for text in lines) == 1

    def test_a_loop_leaves_the_grid(self):
        f = program()
        for loop, extent, name in zip(find(For, f), (4, 8), "ij", strict=True):
            header = f"for {name} in range({extent}):"
            self.check(f, loop, header, header)

    def test_a_block_and_its_iterator(self):
        f = program()
        block = find(Block, f)[1]
        self.check(f, block, 'with T.block("B"):', 'T.block("B")')
        self.check(f, block.iter_vars[1], "vj = T.axis.spatial(8, j)", "vj = T.axis.spatial(8, j)")

    def test_a_store_an_expression_and_a_region(self):
        f = program()
        block = find(Block, f)[1]
        store = "A[vi, vj] = A[vi, vj] + T.float32(1.0)"
        self.check(f, block.body, store, store)
        self.check(f, block.body.value.b, store, "T.float32(1.0)")
        self.check(f, block.reads[0], "T.reads(A[vi, vj])", "A[vi, vj]")

    def test_a_condition_in_an_elif(self):
        x = Var("x", I32)
        conditions = [x < 1, x < 2]
        inner = IfThenElse(conditions[1], Evaluate(const(1)))
        f = PrimFunc((x,), IfThenElse(conditions[0], Evaluate(const(0)), inner))
        self.check(f, conditions[1], "elif x < 2:", "x < 2")

    def test_several_nodes_and_context(self):
        stmts = [Evaluate(const(k)) for k in range(20)]
        text = script(seq(*stmts), obj_to_underline=[stmts[4], stmts[15]], num_context_lines=1)
        assert text.split("\n") == [
            "...",
            "T.evaluate(3)",
            "T.evaluate(4)",
            "^^^^^^^^^^^^^",
            "T.evaluate(5)",
            "...",
            "T.evaluate(14)",
            "T.evaluate(15)",
            "^^^^^^^^^^^^^^",
            "T.evaluate(16)",
            "...",
        ]

    def test_paths(self):
        f = program()
        path = ("body", "block", "body", "body", "extent")
        lines = script(f, path_to_underline=path).split("\n")
        position = next(k for k, text in enumerate(lines) if "^" in text)
        assert lines[position - 1].strip() == "for i, j in T.grid(4, 8):"
        assert lines[position].index("^") == lines[position - 1].index("8")
        module = IRModule({"main": f})
        assert script(module, path_to_underline=[("functions", "main", *path)]).count("^") == 1

    def test_underlining_nothing(self):
        assert script(program(), obj_to_underline=[Var("x", I32)]) == script(program())
        assert script(program(), obj_to_underline=None) == script(program())

    @pytest.mark.parametrize("seed", range(40))
    def test_any_node_can_be_underlined_without_changing_the_text(self, seed):
        f = random_function(seed)
        plain = script(f, syntax_sugar=False)
        for item in list(walk(f.body))[::7]:
            marked = script(f, syntax_sugar=False, obj_to_underline=item)
            assert START not in marked
            kept = [t for t in marked.split("\n") if set(t.strip()) - {"^", " "} or not t.strip()]
            assert "\n".join(kept) == plain


def test_marks_become_underlines():
    lines = [f"a {START}b {START}c{END}{END} d", "e"]
    assert finish(lines) == "a b c d\n  ^^^\ne"
    assert finish(lines, line_numbers=True) == "1  a b c d\n     ^^^\n2  e"


class TestNames:
    def test_suffixes_and_scopes(self):
        names = NameTable()
        a, b, c = object(), object(), object()
        assert names.define(a, "x") == "x"
        names.push()
        assert names.define(b, "x") == "x_1"
        assert names.define(c, "x_1") == "x_1_1"
        names.pop()
        assert names.find(b) is None
        assert names.define(b, "x") == "x_1"

    def test_an_inner_definition_hides_and_restores(self):
        names = NameTable()
        a = object()
        names.define(a, "x")
        names.push()
        assert names.define(a, "x") == "x_1"
        names.alias(a, "y.data")
        assert names.find(a) == "y.data"
        names.pop()
        assert names.find(a) == "x"

    @pytest.mark.parametrize(
        ("hint", "name"),
        [
            ("a.b-c", "a_b_c"),
            ("1x", "v_1x"),
            ("", "v"),
            ("字", "字"),
            ("for", "for_1"),
            ("T", "T_1"),
        ],
    )
    def test_identifiers(self, hint, name):
        assert NameTable(("T",)).unique(hint) == name


class TestShow:
    def test_plain_text_when_not_in_a_terminal(self, capsys):
        program().show()
        assert capsys.readouterr().out == program().script() + "\n"

    def terminal(self, monkeypatch, is_terminal=True):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)

    def test_colours_in_a_terminal(self, capsys, monkeypatch):
        self.terminal(monkeypatch)
        for style in (None, "light", "dark", "ansi", "monokai"):
            program().show(style)
            assert "\x1b[" in capsys.readouterr().out

    def test_no_color(self, capsys, monkeypatch):
        self.terminal(monkeypatch)
        monkeypatch.setenv("NO_COLOR", "1")
        program().show(black_format=False)
        assert "\x1b[" not in capsys.readouterr().out

    def test_options_reach_the_script(self, capsys):
        IRModule({"main": program()}).show(name="Net")
        assert "class Net:" in capsys.readouterr().out

    def test_an_unknown_style(self):
        with pytest.raises(ArgumentValueError, match="no style 'neon'"):
            show(program(), style="neon")

    def test_html_in_a_notebook(self, monkeypatch):
        shown = []
        module = SimpleNamespace(HTML=lambda text: text, display=shown.append)
        shell = SimpleNamespace(kernel=object())
        ipython = SimpleNamespace(get_ipython=lambda: shell, display=module)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        program().show()
        assert "<span" in shown[0]

    def test_html_representation(self):
        assert "<span" in program()._repr_html_()
        assert "<span" in display.highlight_html("x = 1", "ansi")
