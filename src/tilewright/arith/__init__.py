"""Integers: linear normal form, bounds, remainders, simplification and proofs."""

from tilewright.arith.analyzer import Analyzer, ConstIntBound, ModularSet
from tilewright.arith.interval import IntervalSet, interval_of
from tilewright.arith.iter_form import IterMark, IterSplit, IterSum, inverse_affine_iter_map
from tilewright.arith.itermap import IterMapResult, detect_iter_map, iter_map_simplify
from tilewright.arith.linear import detect_linear_equation
