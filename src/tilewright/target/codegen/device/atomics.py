"""Additions by several threads at once, of which none is lost.

CUDA has them for all dtypes but float16, OpenCL for integers. The others take a loop that compares
what was there with what is there still, and exchanges it for the sum. It guesses that a zero was
there, as any other way to look is a race.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call
from tilewright.target.codegen.c.emitter import Text
from tilewright.target.codegen.c.expressions import lvalue
from tilewright.target.codegen.device.emitter import KernelEmitter, emits

_CUDA_TYPES: Final = {"int64": "unsigned long long", "uint64": "unsigned long long"}
_OPENCL: Final = {32: ("uint", "atomic_cmpxchg", ""), 64: ("ulong", "atom_cmpxchg", "64")}
_OPENCL_FLOATS: Final = {32: "float", 64: "double"}

_LOOP: Final = """\
static inline {kind} {name}({space}{stored}* place, {kind} value) {{
  {word} seen, old = 0;
  do {{
    seen = old;
    old = {exchange}(({space}{word}*)place, seen, {to_word}({to_kind}(seen) + value));
  }} while (old != seen);
  return {to_kind}(old);
}}
"""

_HALF_LOOP: Final = """\
static inline float {name}({space}uint16_t* place, float value) {{
  {space}uint32_t* word = ({space}uint32_t*)((size_t)place & ~(size_t)3);
  uint32_t shift = ((size_t)place & 2) * 8, seen, old = 0;
  do {{
    seen = old;
    uint32_t sum = tw_store_f16(tw_load_f16((uint16_t)(seen >> shift)) + value);
    old = atomic_cmpxchg(word, seen, (seen & ~(0xffffu << shift)) | sum << shift);
  }} while (old != seen);
  return tw_load_f16((uint16_t)(old >> shift));
}}
"""
"""Exchanges the word that a half is in: OpenCL has none of 16 bits. Memory is whole words."""

WIDE: Final = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"


@emits("tir.atomic_add")
def _atomic_add(emitter: KernelEmitter, call: Call) -> Text:
    load = call.args[0].args[0]  # type: ignore[attr-defined]
    dtype, space = call.dtype, emitter.space_of(load.buffer.data)
    place, value = f"&{lvalue(emitter, load)}", emitter.code(call.args[1])
    if dtype.bits == 16:
        half = emitter.half_helper(dtype)
        if emitter.target == "cuda":
            kinds = ("float16_t",) * 2 if emitter.is_native(dtype) else ("float", "uint16_t")
            words = dict(zip(("kind", "stored"), kinds, strict=True))
            words |= {"word": "unsigned short", "exchange": "atomicCAS"}
            words |= {"to_word": f"tw_store_{half}", "to_kind": f"tw_load_{half}"}
            name = _helper(emitter, _LOOP, dtype, space, **words)
        else:
            name = _helper(emitter, _HALF_LOOP, dtype, space)
        return Text(f"{name}({place}, {value})")
    if emitter.target == "cuda":
        wide = _CUDA_TYPES.get(str(dtype))
        if wide is None:
            return Text(f"atomicAdd({place}, {value})")
        return Text(f"(({dtype}_t)atomicAdd(({wide}*){place}, ({wide})({value})))")
    word, exchange, suffix = _OPENCL[dtype.bits]
    if suffix:
        emitter.helper("wide_atomics", WIDE)
    if dtype.is_integral:
        function = "atom_add" if suffix else "atomic_add"
        return Text(f"{function}({place}, {value})")
    kind = _OPENCL_FLOATS[dtype.bits]
    words = {"kind": kind, "stored": kind, "word": word, "exchange": exchange}
    words |= {"to_word": f"as_{word}", "to_kind": f"as_{kind}"}
    name = _helper(emitter, _LOOP, dtype, space, **words)
    return Text(f"{name}({place}, {value})")


def _helper(emitter: KernelEmitter, source: str, dtype: DType, space: str, **words: str) -> str:
    """The name of a function that adds, which the source then contains."""
    name = "_".join(["tw_atomic_add", str(dtype), *space.strip(" _").split()])
    emitter.helper(name, source.format(name=name, space=space, **words))
    return name
