"""Whatever the text, only a `ScriptError` comes out, and what parses prints and parses again."""

import random
import re
import signal
from contextlib import contextmanager

import pytest
from tests.script.programs import PROGRAMS

from tilewright.error import ScriptError
from tilewright.ir import IRModule
from tilewright.ir.structural import structural_equal
from tilewright.script import from_source

TOKEN = re.compile(r"\s+|\w+|\"[^\"\n]*\"|.", re.S)
WORDS = """
0 -1 1.5 T T. None True () [] {} ... * ** := ~ // % @ for if else with while return yield await def
class try cls not is in A A.data A[0] A[0:4] B.shape range(3) len T.block() T.init() T.grid(2)
T.axis T.handle T.int64() T.float32 T.reads() T.writes(A) T.where(True) T.evaluate T.match_buffer
T.alloc_buffer(4) T.Buffer((2,)) T.If(True) T.Then() @T.macro T.Let T.meta_var(3) isinstance
T.launch_thread( 1e999 list(A) sum(B) dict(A) sorted(B) max(A) tuple(A[0]) *A set(T.Buffer)
"""
EXTRA = [
    *WORDS.split(),
    "lambda x: x", '"a"', "f'{A}'", "min(A, B)", "9" * 30, "1 << 70", "T.Ramp(0, 1, 4)",
    "T.Shuffle([A], [0])", "T.comm_reducer(lambda x, y: x, [0])",
    "\n", "\n    ", "\t", "\x00", "é", "\u2028", "'", '"', "\\",
]  # fmt: skip


def mutate(rng: random.Random, text: str) -> str:
    """`text` with one small change."""
    tokens = TOKEN.findall(text)
    i, j = (rng.randrange(len(tokens)) for _ in range(2))
    words = [k for k, token in enumerate(tokens) if token[0].isalnum()]
    kind = rng.randrange(13)
    if kind == 0:
        del tokens[i]
    elif kind == 1:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif kind == 2:
        tokens[i] = tokens[j]
    elif kind == 3:
        tokens.insert(i, rng.choice(EXTRA))
    elif kind == 4:
        tokens[i] = rng.choice(EXTRA)
    elif kind == 5:
        del tokens[i : i + rng.randrange(1, 8)]
    elif kind == 6:
        start = rng.randrange(len(text))
        return text[:start] + text[start + rng.randrange(1, 12) :]
    elif kind == 7:
        lines = text.split("\n")
        a, b = (rng.randrange(len(lines)) for _ in range(2))
        lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines)
    elif kind == 8:
        return text[: rng.randrange(len(text))]
    elif kind == 9 and words:
        tokens[rng.choice(words)] = rng.choice(EXTRA)
    elif words:
        tokens[rng.choice(words)] = tokens[rng.choice(words)]
    return "".join(tokens)


def check(text: str) -> bool:
    """Whether `text` parses; anything but a `ScriptError` fails."""
    try:
        program = from_source(text)
    except ScriptError as error:
        problem = str(error)
    else:
        problem = ""
    if problem:
        assert re.match(r"error: .+\n *--> <script>:\d+:\d+\n", problem), text
        return False
    printed = program.script()
    again = from_source(printed)
    if isinstance(program, IRModule):
        pairs = [(program[v], again[v]) for v in program.functions]
    else:
        pairs = [(program, again)]
    assert all(structural_equal(a, b, map_free_vars=True) for a, b in pairs), f"{text}\n\n{printed}"
    return True


class TookTooLong(BaseException):
    """No `Exception`, which the parser would report as a mistake in the text."""


@contextmanager
def at_most(seconds: int):
    """Fail if the body takes longer, where the system can interrupt it."""

    def interrupt(number: int, frame: object) -> None:
        raise TookTooLong(f"longer than {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.budget(0.2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_mutated_programs_give_script_errors_only(name, budget):
    rng = random.Random(name if budget.seconds is None else None)
    parsed = 0
    for _ in budget.examples(150):
        text = PROGRAMS[name]
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            text = mutate(rng, text) or "x"
        try:
            with at_most(10):
                parsed += check(text)
        except (Exception, TookTooLong) as error:
            raise AssertionError(f"{type(error).__name__} of the text\n{text}") from error
    if budget.seconds is None:  # a short time may be too short for any text to parse
        assert budget.count > parsed > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "(" * 300 + ")" * 300,
        "@T.prim_func\ndef f():\n    T.evaluate(" + "-" * 5000 + "1)\n",
        "@T.prim_func\ndef f():\n    T.evaluate(" + "1 + " * 20000 + "1)\n",
        "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(" + "n + " * 3000 + "n)\n",
        "@T.prim_func\ndef f():\n" + "".join(f"{' ' * (i + 1)}if True:\n" for i in range(150)),
        "x = 1\n",
        "import os\n",
        "from os import system\n",
        "@T.prim_func\nclass A: pass\n",
        "@I.ir_module\ndef f(): pass\n",
        "def f(): pass\n",
        "class A: pass\n",
        "@I.ir_module\nclass A:\n    x: int = 3\n",
        "@I.ir_module\nclass A:\n    def f(self): pass\n",
        "@T.prim_func\ndef f(x): pass\n",
        "@T.prim_func\ndef f(*x: T.int32): pass\n",
        "@T.prim_func\ndef f(x: T.int32 = 3): pass\n",
        "@T.prim_func\ndef f(x: 3): pass\n",
        "@T.prim_func\ndef f() -> 3: pass\n",
        "@T.prim_func\n@T.prim_func\ndef f(): pass\n",
        "@T.macro\ndef f():\n    f()\n@T.prim_func\ndef g():\n    f()\n",
    ],
    ids=range(23),
)
def test_odd_texts(text):
    try:
        from_source(text)
    except ScriptError as error:
        problem = str(error)
    else:
        problem = "error: none" if "+" in text or "--" in text else ""
    assert problem.startswith("error: ")
