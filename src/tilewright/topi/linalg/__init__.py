"""Factorizations of matrices, and what solves systems of equations by them."""

from tilewright.topi.linalg.cholesky import cholesky
from tilewright.topi.linalg.eigh import eigh
from tilewright.topi.linalg.lu import lu_factor, permutation
from tilewright.topi.linalg.matrix_exp import matrix_exp
from tilewright.topi.linalg.qr import householder_product, qr
from tilewright.topi.linalg.svd import svd
from tilewright.topi.linalg.triangular import solve_triangular
