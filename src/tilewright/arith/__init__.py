"""Integers: linear normal form, bounds, remainders, simplification and proofs."""

from tilewright.arith.analyzer import Analyzer, ConstIntBound, ModularSet
from tilewright.arith.linear import detect_linear_equation
