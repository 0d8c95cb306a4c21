"""The C of small programs is what a person would write."""

from tests.target.codegen.c.compiled import source_of

from tilewright import te


def kernel(source, name):
    """The definition of a function in the source."""
    begin = source.index(f"static int32_t {name}(", source.index(f"static int32_t {name}(") + 1)
    return source[begin : source.index("\n}\n", begin) + 3]


def test_matmul():
    n = te.var("n", "int64")
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    function = te.create_prim_func([a, b, c]).with_attr("global_symbol", "matmul")
    assert (
        kernel(source_of(function), "matmul")
        == """\
static int32_t matmul(float* restrict A, float* restrict B, float* restrict C, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      C[i * n + j] = 0.0f;
      for (int64_t k = 0; k < n; ++k) {
        C[i * n + j] = C[i * n + j] + A[i * n + k] * B[k * n + j];
      }
    }
  }
  return 0;
}
"""
    )


def test_functions_and_choices():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: te.if_then_else(i < 3, te.exp(a[i]), te.max(a[i], 0)), name="B")
    function = te.create_prim_func([a, b]).with_attr("global_symbol", "f")
    assert (
        kernel(source_of(function), "f")
        == """\
static int32_t f(float* restrict A, float* restrict B) {
  for (int32_t i = 0; i < 8; ++i) {
    B[i] = i < 3 ? tw_exp_f32(A[i]) : tw_max_f32(A[i], 0.0f);
  }
  return 0;
}
"""
    )


def test_the_same_program_gives_the_same_text():
    def program():
        a = te.placeholder((8,), name="A")
        b = te.compute((8,), lambda i: te.tanh(a[i]), name="B")
        return te.create_prim_func([a, b])

    assert source_of(program()) == source_of(program())
