"""The programs of the examples of schedule primitives, small enough for the interpreter."""

from tilewright.script import tir as T
from tilewright.tir import TensorIntrin


@T.prim_func
def scale(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    """One block that works on each element."""
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def scale_add(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    """A producer and a consumer, element by element."""
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def increment(A: T.Buffer((16, 32), "float32")):
    """A block that updates its buffer in place."""
    for i, j in T.grid(16, 32):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def transpose(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")):
    """A block that reads its buffer in another order than it writes its result."""
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


@T.prim_func
def row_sum(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32")):
    """The sum of each row of a matrix."""
    for i, k in T.grid(16, 32):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def byte_matmul(
    A: T.Buffer((4, 16), "int8"), B: T.Buffer((16, 6), "int8"), C: T.Buffer((4, 6), "int32")
):
    """A product of matrices of bytes."""
    for i, j, k in T.grid(4, 6, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


@T.prim_func
def matmul(
    A: T.Buffer((16, 8), "float32"),
    B: T.Buffer((8, 32), "float32"),
    C: T.Buffer((16, 32), "float32"),
):
    """The product of two matrices."""
    for i, j, k in T.grid(16, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_odd(
    A: T.Buffer((7, 6), "float32"),
    B: T.Buffer((6, 10), "float32"),
    C: T.Buffer((7, 10), "float32"),
):
    """The product of two matrices whose sizes are not powers of two."""
    for i, j, k in T.grid(7, 10, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_relu(
    A: T.Buffer((16, 8), "float32"),
    B: T.Buffer((8, 32), "float32"),
    D: T.Buffer((16, 32), "float32"),
):
    """The product of two matrices, and what of it is positive."""
    C = T.alloc_buffer((16, 32))
    for i, j, k in T.grid(16, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def chain(
    A: T.Buffer((8, 4), "float32"),
    B: T.Buffer((4, 6), "float32"),
    E: T.Buffer((6, 5), "float32"),
    F: T.Buffer((8, 5), "float32"),
):
    """A product, the exponential of each of its elements, and the product of that."""
    C = T.alloc_buffer((8, 6))
    D = T.alloc_buffer((8, 6))
    for m, n, k in T.grid(8, 6, 4):
        with T.block("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + A[vm, vk] * B[vk, vn]
    for m, n in T.grid(8, 6):
        with T.block("D"):
            vm, vn = T.axis.remap("SS", [m, n])
            D[vm, vn] = T.exp(C[vm, vn])
    for m, n, k in T.grid(8, 5, 6):
        with T.block("F"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            with T.init():
                F[vm, vn] = T.float32(0)
            F[vm, vn] = F[vm, vn] + D[vm, vk] * E[vk, vn]


@T.prim_func
def blur(A: T.Buffer((10, 18), "float32"), C: T.Buffer((8, 16), "float32")):
    """Sums of three neighbours in a row, and then of three in a column."""
    B = T.alloc_buffer((10, 16))
    for i, j in T.grid(10, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + A[vi, vj + 1] + A[vi, vj + 2]
    for i, j in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


@T.prim_func
def convolution(
    A: T.Buffer((16,), "float32"), W: T.Buffer((3,), "float32"), C: T.Buffer((16,), "float32")
):
    """A convolution with zeros on both sides of its input."""
    P = T.alloc_buffer((18,))
    for i in range(18):
        with T.block("P"):
            vi = T.axis.spatial(18, i)
            P[vi] = T.if_then_else(vi >= 1 and vi < 17, A[vi - 1], T.float32(0))
    for i, k in T.grid(16, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + P[vi + vk] * W[vk]


@T.prim_func
def softmax(A: T.Buffer((4, 8), "float32"), D: T.Buffer((4, 8), "float32")):
    """The softmax of each row."""
    M = T.alloc_buffer((4,))
    E = T.alloc_buffer((4, 8))
    S = T.alloc_buffer((4,))
    for i, k in T.grid(4, 8):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(4, 8):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(4, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj] / S[vi]


@T.prim_func
def rows(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    """A block for each row, which has memory and blocks of its own."""
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:16])
            T.writes(C[vi, 0:16])
            B = T.alloc_buffer((16,))
            for j in range(16):
                with T.block("B"):
                    vj = T.axis.spatial(16, j)
                    B[vj] = A[vi, vj] * T.float32(2)
            for j in range(16):
                with T.block("C"):
                    vj = T.axis.spatial(16, j)
                    C[vi, vj] = B[vj] + T.float32(1)


@T.prim_func
def enlarge(A: T.Buffer((8, 8), "float32"), B: T.Buffer((16, 16), "float32")):
    """Each element four times."""
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2, vj // 2]


@T.prim_func
def scale_8_description(a: T.handle, b: T.handle):
    """What the intrinsic `scale_8` computes."""
    A = T.match_buffer(a, (8,), offset_factor=1)
    B = T.match_buffer(b, (8,), offset_factor=1)
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)


@T.prim_func
def scale_8_implementation(a: T.handle, b: T.handle):
    """How the intrinsic `scale_8` computes it: by one instruction."""
    A = T.match_buffer(a, (8,), offset_factor=1)
    B = T.match_buffer(b, (8,), offset_factor=1)
    with T.block("root"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        B[0:8] = A[0:8] * T.Broadcast(T.float32(2), 8)


TensorIntrin.register("scale_8", scale_8_description, scale_8_implementation, override=True)
