"""Code for processors that this machine lacks, run with functions in place of their instructions.

The generated LLVM IR is kept but for the names of the dot-product intrinsics, which become those of
functions that do the same in plain arithmetic; it is then compiled for this machine.
"""

import re
from contextlib import contextmanager

import pytest
from tests.target.tiles import Tiles

from tilewright.target import Target
from tilewright.target.codegen.llvm import compile as compilation

INTRINSIC = re.compile(
    r"@\"?(llvm\.(?:x86\.avx512\.vpdpbusd|x86\.avx2\.vpdpb\w+|x86\.avx512bf16\.dpbf16ps"
    r"|x86\.(?:sse2|avx2)\.pmadd\.wd|x86\.avx512\.pmaddw\.d"
    r"|x86\.(?:ldtilecfg|tile\w+|tdp\w+)"
    r"|aarch64\.neon\.(?:bf|us|s|u)(?:dot|mmla))[\w.]*)\"?"
)
PERMISSION = re.compile(r"call i64 \(i64, \.\.\.\) @syscall\(i64 158, i64 4131, i64 18\)")
TILE_TYPES = ("i8 %x", "ptr %y", "i64 %z")
SIGNS = {
    "vpdpbusd": "zs", "vpdpbssd": "ss", "vpdpbuud": "zz",
    ".usdot": "zs", ".sdot": "ss", ".udot": "zz", ".usmmla": "zs", ".smmla": "ss", ".ummla": "zz",
}  # fmt: skip
SUMS = {"sse2.pmadd.wd": 4, "avx2.pmadd.wd": 8, "avx512.pmaddw.d.512": 16, "dot.v4": 4}


@contextmanager
def emulated(target, permission=0):
    """Inside, code for `target` can be run; gives the tile registers that it uses.

    Args:
        permission: what the system answers who asks for tile registers.
    """
    parse, machine_for = compilation.parse, compilation.machine_for
    tiles = Tiles()
    functions = tiles.functions()

    def parse_emulated(text, *others):
        text = PERMISSION.sub(f"add i64 0, {permission}", text)
        return parse(with_functions(text, functions), *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "parse", parse_emulated)
        host = Target("llvm")
        patch.setattr(compilation, "machine_for", lambda _, **options: machine_for(host, **options))
        patch.setitem(target.__dict__, "is_host", True)
        yield tiles
    tiles.check()


def with_functions(text, tiles):
    """LLVM IR that calls functions in place of the intrinsics.

    Args:
        tiles: addresses and numbers of arguments of functions for instructions on tiles.
    """
    names = sorted(set(INTRINSIC.findall(text)))
    lines = [line for line in text.splitlines() if not (
        line.startswith("declare") and INTRINSIC.search(line)
    )]  # fmt: skip
    text = INTRINSIC.sub(lambda found: f"@{found[1].replace('llvm', 'emulated')}", "\n".join(lines))
    return "\n".join([text, *(definition(name, tiles) for name in names)])


def definition(name, tiles):
    """A function that does what an intrinsic does."""
    if name.removeprefix("llvm.x86.") in tiles:
        return tile_instruction(name, *tiles[name.removeprefix("llvm.x86.")])
    if "mmla" in name:
        return matrix_product(name)
    lanes = next((n for end, n in SUMS.items() if end in name), None)
    lanes = lanes or int(name.rpartition(".")[2]) // 32
    if "bf" in name:
        return bfloats(name, lanes)
    signs = next((found for part, found in SIGNS.items() if part in name), None)
    return integers(name, lanes, signs)


def tile_instruction(name, address, count):
    """A call of a function of this process, by its address."""
    params = TILE_TYPES[:count]
    if name.endswith("ldtilecfg"):
        params = TILE_TYPES[1:2]
    elif "tdp" in name:
        params = ("i8 %x", "i8 %y", "i8 %z")
    call = f"call void inttoptr (i64 {address} to ptr)({', '.join(params)})"
    return whole(name, "void", ", ".join(params), [call], "").replace("ret void ", "ret void")


def integers(name, lanes, signs):
    """Products of bytes that are added to sums, or of words whose pairs are."""
    group, narrow = (4, "i8") if signs else (2, "i16")
    count = lanes * group
    ty, wide, operand = f"<{lanes} x i32>", f"<{count} x i32>", f"<{count} x {narrow}>"
    total = f"{ty} %total, " if signs else ""
    first, second = signs or "ss"
    code = [
        f"%x = {first}ext {operand} %a to {wide}",
        f"%y = {second}ext {operand} %b to {wide}",
        f"%products = mul {wide} %x, %y",
    ]
    sums = "%total" if signs else "zeroinitializer"
    for part in range(group):
        code.append(f"%part{part} = {picked(wide, '%products', range(part, count, group))}")
        code.append(f"%sum{part} = add {ty} {sums}, %part{part}")
        sums = f"%sum{part}"
    return whole(name, ty, f"{total}{operand} %a, {operand} %b", code, sums)


def matrix_product(name):
    """Products of each half of a vector with each half of another, added to four sums."""
    is_real = "bf" in name
    count, narrow, sums = (8, "bfloat", "float") if is_real else (16, "i8", "i32")
    size = count // 2
    ty, wide, operand = f"<4 x {sums}>", f"<{count} x {sums}>", f"<{count} x {narrow}>"
    signs = next((found for part, found in SIGNS.items() if part in name), "")
    kinds = ["fpext"] * 2 if is_real else [f"{sign}ext" for sign in signs]
    multiply, add = ("fmul", "fadd") if is_real else ("mul", "add")
    code = [
        f"%x = {kinds[0]} {operand} %a to {wide}",
        f"%y = {kinds[1]} {operand} %b to {wide}",
    ]
    total = "%total"
    for step in range(size):
        rows, columns = ([size * half + step for half in n] for n in ((0, 0, 1, 1), (0, 1, 0, 1)))
        code += [
            f"%x{step} = {picked(wide, '%x', rows)}",
            f"%y{step} = {picked(wide, '%y', columns)}",
            f"%p{step} = {multiply} {ty} %x{step}, %y{step}",
            f"%sum{step} = {add} {ty} {total}, %p{step}",
        ]
        total = f"%sum{step}"
    return whole(name, ty, f"{ty} %total, {operand} %a, {operand} %b", code, total)


def bfloats(name, lanes):
    """Pairs of products of bfloat16 that are added to sums, the odd ones first."""
    count = 2 * lanes
    ty, wide, operand = f"<{lanes} x float>", f"<{count} x float>", f"<{count} x bfloat>"
    code = [f"%{x} = fpext {operand} %{y} to {wide}" for x, y in ("xa", "yb")]
    code.append(f"%products = fmul {wide} %x, %y")
    sums = "%total"
    for part in (1, 0):
        code.append(f"%part{part} = {picked(wide, '%products', range(part, count, 2))}")
        code.append(f"%sum{part} = fadd {ty} {sums}, %part{part}")
        sums = f"%sum{part}"
    return whole(name, ty, f"{ty} %total, {operand} %a, {operand} %b", code, sums)


def picked(ty, value, lanes):
    picks = ", ".join(f"i32 {lane}" for lane in lanes)
    return f"shufflevector {ty} {value}, {ty} poison, <{len(lanes)} x i32> <{picks}>"


def whole(name, ty, params, code, result):
    body = "\n".join(f"  {line}" for line in [*code, f"ret {ty} {result}"])
    name = name.replace("llvm", "emulated")
    return f"define internal {ty} @{name}({params}) alwaysinline {{\n{body}\n}}"
