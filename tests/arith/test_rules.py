"""Every rule of every table is true for all small integers, and is found by the simplifier."""

import ast
import itertools

import pytest

from tilewright.arith import Analyzer
from tilewright.arith.simplify import add_sub, logic
from tilewright.arith.simplify.rules import RuleTable, is_constant, names_in, parse, parts_of
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir import DType, IntImm, Var

RULES = [pytest.param(rule, id=rule.lhs) for rule in logic.RULES]
SUM_RULES = [pytest.param(rule, id=f"{rule.first} | {rule.second}") for rule in add_sub.RECOMBINE]
BOOLEAN_ONLY = {
    rule.lhs
    for rule in logic.RULES
    if {"and", "or"} & set(rule.lhs.split()) and "<" not in rule.lhs
}
NUMBERS = range(-4, 5)


def assignments(texts, values):
    """All assignments of `values` to the pattern variables of some rule texts."""
    names = sorted({name for text in texts for name in names_in(parse(text))})
    for chosen in itertools.product(values, repeat=len(names)):
        yield dict(zip(names, chosen, strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_true(rule):
    values = (False, True) if rule.lhs in BOOLEAN_ONLY else NUMBERS
    lhs, rhs, when = (compile(text, "rule", "eval") for text in rule)
    held = 0
    for values_of in assignments((rule.lhs, rule.rhs), values):
        if eval(when, {}, values_of):
            held += 1
            assert eval(lhs, {}, values_of) == eval(rhs, {}, values_of), values_of
    assert held


@pytest.mark.parametrize("rule", SUM_RULES)
def test_an_identity_of_sums_is_true(rule):
    lhs = f"({rule.first}) * ({rule.ratio}) + ({rule.second})"
    held = 0
    for values_of in assignments((lhs, rule.result), [*NUMBERS, 6, 8, -7, 23]):
        if eval(rule.when, {}, values_of):
            held += 1
            assert eval(lhs, {}, values_of) == eval(rule.result, {}, values_of), values_of
    assert held


def build(tree, variables, constants, simplifier):
    """The node that a pattern stands for, operands simplified, the root as it is."""
    if isinstance(tree, ast.Name) and not is_constant(tree):
        return variables[tree.id]
    if is_constant(tree):
        return IntImm(DType("int32"), eval(ast.unparse(tree), {}, constants))
    kind, operands = parts_of(tree)
    return kind(*[build(operand, variables, constants, simplifier) for operand in operands])


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_found(rule):
    dtype = DType("bool") if rule.lhs in BOOLEAN_ONLY else DType("int32")
    names = names_in(parse(rule.lhs))
    variables = {n: Var(n, DType("bool") if n == "p" else dtype) for n in names}
    numbers = [1, 3, 2, 9]
    constants = next(
        values
        for chosen in itertools.permutations(numbers, sum(n[0] == "c" for n in names))
        if eval(
            rule.when,
            {},
            values := dict(zip((n for n in names if n[0] == "c"), chosen, strict=True)),
        )
    )
    simplifier = Simplifier()
    kind, operands = parts_of(parse(rule.lhs))
    built = [simplifier(build(o, variables, constants, simplifier)) for o in operands]
    assert RuleTable([rule]).apply(simplifier, kind, *built) is not None


def test_a_constant_that_does_not_fit_stops_a_rule():
    analyzer = Analyzer()
    a = Var("a", DType("int32"))
    deep = a // (1 << 20) // (1 << 20)
    assert analyzer.simplify(deep) is deep
