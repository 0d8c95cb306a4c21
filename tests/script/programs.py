"""Programs in TVMScript that between them use every construct, for tests of parser and printer."""

PROGRAMS = {
    "elementwise": """
@T.prim_func
def scale(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj]) * 2.0 - T.max(A[vi, vj], 0.5)
""",
    "reduction": """
@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    n, m, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (k, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, k in T.grid(n, m, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
""",
    "tiled": """
@T.prim_func
def tiled(A: T.Buffer((100, 64), "float32"), B: T.Buffer((100, 64), "float32")):
    C = T.alloc_buffer((100, 64), scope="local")
    for i0 in T.parallel(13, annotations={"pragma_x": 16, "names": ["a", "b"]}):
        for i1, j0 in T.grid(8, 8):
            for j1 in T.vectorized(8):
                with T.block("C"):
                    vi = T.axis.spatial(100, i0 * 8 + i1)
                    vj = T.axis.spatial(64, j0 * 8 + j1)
                    T.where(i0 * 8 + i1 < 100)
                    T.reads(A[vi, vj])
                    T.writes(C[vi, vj])
                    T.block_attr({"hint": "SS", "depth": 2})
                    C[vi, vj] = A[vi, vj] + 1.0
    for i in T.unroll(100):
        for j in range(0, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.Select(C[vi, vj] > 0.0, C[vi, vj], T.float32(0))
""",
    "nested_blocks": """
@T.prim_func
def nested(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32,), "float16")):
    for io in range(4):
        with T.block("rows"):
            vo = T.axis.spatial(4, io)
            S = T.alloc_buffer((8,), "float16")
            for ii, k in T.grid(8, 32):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [ii, k])
                    with T.init():
                        S[vi] = T.float16(0)
                    S[vi] = S[vi] + A[vo * 8 + vi, vk]
            for ii in range(8):
                with T.block("copy"):
                    vi = T.axis.spatial(8, ii)
                    B[vo * 8 + vi] = S[vi]
""",
    "views": """
@T.prim_func
def views(a: T.handle, b: T.handle):
    n = T.int32()
    pitch = T.int32()
    A = T.match_buffer(a, (n, 16), strides=[pitch, 1], offset_factor=1)
    B = T.match_buffer(b, (n, 16), align=64)
    for i in range(n):
        with T.block("row"):
            vi = T.axis.spatial(n, i)
            T.reads(A[vi, 0:16])
            T.writes(B[vi, 0:16])
            row = T.match_buffer(A[vi, 0:16], (16,), strides=[1], elem_offset=T.int32())
            for j in range(16):
                with T.block("copy"):
                    vj = T.axis.spatial(16, j)
                    B[vi, vj] = row[vj]
""",
    "lowered": """
@T.prim_func
def lowered(A: T.Buffer((16, 64), "float32"), F: T.Buffer((16, 64), "float32")):
    C = T.allocate([1024], "float32", "global")
    C_1 = T.Buffer((1024,), data=C)
    for m in range(16):
        for l in range(64):
            index: T.int32 = m * 64 + l
            A_1 = T.Buffer((1024,), data=A.data)
            C_1[index] = A_1[index] * T.float32(0.5)
        for l in range(16):
            F_1 = T.Buffer((1024,), data=F.data)
            F_1[m * 64 + l * 4:m * 64 + l * 4 + 4] = C_1[m * 64 + l * 4:m * 64 + l * 4 + 4]
""",
    "control": """
@T.prim_func
def control(A: T.Buffer((64,), "float32"), n: T.int32, flag: T.bool) -> T.int32:
    assert 0 < n < 64, "n is in range"
    if n > 3 and (n < 10 or flag):
        A[0] = 1.0
    elif not flag:
        A[1] = A[0] if n > 2 else A[1]
    else:
        A[2] = T.if_then_else(n % 2 == 0, A[3], T.float32("-inf"))
    while A[0] > 0.0:
        A[0] -= 1.0
    x = A[n // 2] + 1.0
    with T.LetStmt(n + 1) as m:
        A[T.min(m, 63)] = x
    with T.If(n == 1):
        with T.Then():
            T.evaluate(T.call_extern("int32", "notify", n))
        with T.Else():
            A[n] = T.sqrt(T.abs(x))
    return T.Cast("int32", x)
""",
    "low_level": """
@T.prim_func
def low_level(A: T.Buffer((64,), "float32"), p: T.handle("float32", "global"), q: T.handle):
    K = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    K_1 = T.decl_buffer((4,), data=K)
    D = T.decl_buffer((16,), scope="local")
    P = T.Buffer((8,), "float32", data=p, strides=(2,), elem_offset=4)
    T.attr(A.data, "pragma_note", 1)
    for i in T.serial(2, 4):
        D[i] = K_1[i] + P[i]
    T.prefetch(A, [T.Range(0, 16)])
    y = T.float32()
    A[0] = T.Let(y * y, where={y: D[0]})
    A[4:8] = T.Broadcast(A[3], 4) + A[T.Ramp(8, 2, 4)]
    A.vstore([T.Ramp(16, 1, 4)], A[20:24], predicate=A[20:24] > T.Broadcast(T.float32(0), 4))
    T.call_packed("report", A[0], "done", q)
    T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 4, 1))
""",
    "threads": """
@T.prim_func
def threads(A: T.Buffer((64,), "int8")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("A"):
                v = T.axis.spatial(64, b * 16 + t)
                A[v] = T.Cast("int8", v) ^ T.int8(3)
    with T.launch_thread("vthread.x", 2) as vx:
        A[vx] = T.int8(0)
    with T.launch_thread("threadIdx.y", 4) as ty:
        A[ty] = A[ty] << T.int8(1)
""",
    "irregular": """
@T.prim_func
def irregular(
    x: T.Buffer((), "float64"), ids: T.Buffer((8,), "int64"), y: T.Buffer((32,), "float64")
):
    for i, j in T.grid(8, 4):
        with T.block("scatter"):
            vi = T.axis.scan(8, i)
            vj = T.axis.opaque((2, 6), j + 2)
            y[ids[vi]] = x[()] + T.Cast("float64", vj)
""",
    "metaprogramming": """
SIZES = [4, 8]

@T.macro
def fill(buffer, count, value=1.0):
    for q in range(count):
        buffer[q] = value + T.Cast("float32", q)

@T.prim_func
def metaprogramming(A: T.Buffer((SIZES[0], SIZES[1]), "float32"), B: T.Buffer((16,), "float32")):
    limit = T.meta_var(sum([size for size in SIZES if size > 0]))
    fill(B, limit)
    if limit > 100:
        B[15] = 0.0
    for i in range(SIZES[0]):
        A[i, 0] = A[i][1] + B[limit - 1]
""",
    "module": """
@I.ir_module
class Pair:
    I.module_attrs({"version": 1, "fast": T.bool(True)})
    I.module_global_infos({"other": [I.dummy_global_info()]})

    @T.prim_func(private=True)
    def next(x: T.int32) -> T.int32:
        return x + 1

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        T.func_attr({"tir.noalias": True})
        for i in range(4):
            A[i] = cls.next(A[i]) + Pair.next(i)
""",
}
"""The text of each program by name."""
