"""What to generate code for: a backend and a machine."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import TargetError
from tilewright.ir.recursion import ScopeStack
from tilewright.target.cpu import (
    BASELINE,
    architecture,
    cache_sizes,
    core_count,
    dot_product_dtypes,
    host,
    is_host_architecture,
    x86_features,
)
from tilewright.target.kinds import KINDS, TAGS, TargetKind, convert_attribute, find_kind

if TYPE_CHECKING:
    from tilewright.tir.transform.machine import Machine

NATIVE: Final = "native"
"""What compilers call the processor of this machine."""

_scopes: ScopeStack[Target] = ScopeStack()


class Target:
    """A target, from a string, a dictionary, JSON, or a tag.

    ``Target("llvm")`` is this machine; ``Target("llvm -mcpu=skylake-avx512 -num-cores=4")``,
    ``Target("llvm -mtriple=aarch64-linux-gnu -mattr=+neon")`` and ``Target({"kind": "llvm",
    "mcpu": "znver4"})`` are others. ``with Target(...):`` makes it the default inside.

    Attributes:
        kind: the backend; `kind.name` is its name.
        attrs: what was given about the machine.
        host: the target of the code that runs on the CPU beside a GPU, if one was given.
        tag: the name of the machine, if it was given by a tag.

    Raises:
        TargetError: for unknown kinds and attributes, and values of the wrong type.
    """

    is_attribute = True

    def __init__(self, target: str | Mapping[str, Any] | Target, host: Any = None) -> None:
        config = _configuration(target)
        self.tag: str = config.pop("tag", "")
        self.kind: TargetKind = find_kind(config.pop("kind", None))
        beside = host if host is not None else config.pop("host", None)
        config.pop("host", None)
        self.host: Target | None = None if beside is None else Target(beside)
        self.attrs: dict[str, Any] = {
            name: convert_attribute(self.kind, name, value) for name, value in config.items()
        }
        self._check_numbers()
        if self.mcpu == NATIVE:
            self._take_this_processor()

    def _take_this_processor(self) -> None:
        """Put a name, or nothing, in place of `NATIVE`."""
        if "mtriple" not in self.attrs:
            del self.attrs["mcpu"]
        elif self.is_host:
            self.attrs["mcpu"] = host().cpu
        else:
            raise TargetError(
                f"target {self.kind.name}: -mcpu={NATIVE} is the processor of this machine, "
                f"which is none of the architecture {self.architecture}"
            )

    def _check_numbers(self) -> None:
        for name in ("num-cores", "vector-width"):
            if name in self.attrs and self.attrs[name] < 1:
                raise TargetError(f"target {self.kind.name}: {name} must be at least 1")
        sizes = self.attrs.get("cache-sizes", ["1", "1", "1"])
        if len(sizes) != 3 or not all(size.isdecimal() and int(size) > 0 for size in sizes):
            raise TargetError(
                f"target {self.kind.name}: cache-sizes are the bytes of the level 1, 2 and 3 "
                f"caches, got {','.join(sizes)}"
            )

    # --- description --------------------------------------------------------------------------

    @property
    def keys(self) -> list[str]:
        """Families that the target belongs to, the most special first."""
        own = list(self.attrs.get("keys", ()))
        device = [self.attrs["device"]] if "device" in self.attrs else []
        return list(dict.fromkeys([*own, *device, *self.kind.keys]))

    @property
    def mcpu(self) -> str:
        """The name of the CPU that was given, or an empty one; see `cpu`."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> list[str]:
        """The features of the CPU that were given; see `features`."""
        return list(self.attrs.get("mattr", ()))

    @property
    def arch(self) -> str:
        """The architecture of a GPU that was given, such as ``"sm_86"``, or an empty one."""
        return str(self.attrs.get("arch", ""))

    @property
    def model(self) -> str:
        """The name of the machine that was given, or ``"unknown"``."""
        return str(self.attrs.get("model", "unknown"))

    def export(self) -> dict[str, Any]:
        """The target as a dictionary, from which `Target` makes an equal one."""
        result: dict[str, Any] = {"kind": self.kind.name, "tag": self.tag, **self.attrs}
        if self.host is not None:
            result["host"] = self.host.export()
        return result

    def __str__(self) -> str:
        parts = [self.kind.name]
        for name, value in sorted(self.attrs.items()):
            text = ",".join(value) if isinstance(value, list) else str(value)
            parts.append(f"-{name}={shlex.quote(text)}")
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.export() == other.export()

    def __hash__(self) -> int:
        return hash(json.dumps(self.export(), sort_keys=True))

    def with_host(self, host: Any) -> Target:
        """This target with code beside it for `host`."""
        return Target(self, host)

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of all kinds."""
        return sorted(KINDS)

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target of a device: of this machine's CPU for ``cpu``."""
        name = str(getattr(device, "type", device)).split(":")[0].split("(")[0]
        for kind in KINDS.values():
            if name in (kind.name, kind.device_type):
                return Target(kind.name)
        raise TargetError(f"there is no target for device {device}")

    # --- scope --------------------------------------------------------------------------------

    def __enter__(self) -> Target:
        _scopes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target of a ``with`` statement."""
        found = _scopes.innermost()
        if found is not None or allow_none:
            return found
        raise TargetError("there is no current target; use `with Target(...):`")

    @staticmethod
    def given_or_current(target: str | Target | None = None) -> Target:
        """What was given; else the innermost target of a ``with`` statement, else this machine."""
        chosen = target if target is not None else _scopes.innermost() or "llvm"
        return chosen if isinstance(chosen, Target) else Target(chosen)

    # --- the machine --------------------------------------------------------------------------

    @functools.cached_property
    def triple(self) -> str:
        """LLVM's name of architecture and system."""
        return self.attrs.get("mtriple") or host().triple

    @functools.cached_property
    def architecture(self) -> str:
        """``"x86_64"``, ``"aarch64"``, ``"riscv64"``, ..."""
        return architecture(self.triple)

    @functools.cached_property
    def is_host(self) -> bool:
        """Whether its code runs in this process."""
        return self.kind.name in ("llvm", "c") and is_host_architecture(self.triple)

    @functools.cached_property
    def describes_host(self) -> bool:
        """Whether it means this machine, whatever that is."""
        # Who names a triple wants code for all machines of that kind.
        return self.is_host and not {"mcpu", "mtriple"} & self.attrs.keys()

    @functools.cached_property
    def _has_host_features(self) -> bool:
        """Whether code may use what this machine's processor has, and nothing else."""
        names_host = self.is_host and self.architecture == "x86_64" and self.cpu == host().cpu
        return self.describes_host or names_host

    @functools.cached_property
    def cpu(self) -> str:
        """LLVM's name of the CPU; the host's own unless a CPU or a triple is given."""
        if "mcpu" in self.attrs:
            return self.attrs["mcpu"]
        return host().cpu if self.describes_host else ""

    @functools.cached_property
    def features(self) -> frozenset[str]:
        """Instruction set extensions, those of `-mattr` added and removed."""
        if self._has_host_features:
            found = set(host().features)
        elif self.architecture == "x86_64":
            found = set(x86_features(self.cpu))
        else:
            found = set(BASELINE.get(self.architecture, ()))
        for item in self.attrs.get("mattr", ()):
            found.discard(item.lstrip("+-"))
            if not item.startswith("-"):
                found.add(item.lstrip("+"))
        return frozenset(found)

    @functools.cached_property
    def feature_string(self) -> str:
        """The features as LLVM takes them."""
        given = [i if i[:1] in "+-" else f"+{i}" for i in self.attrs.get("mattr", ())]
        if self._has_host_features:
            assumed = [f"+{name}" for name in sorted(host().features)]
            assumed += [f"-{name}" for name in sorted(host().missing)]
        else:
            baseline = () if "mcpu" in self.attrs else BASELINE.get(self.architecture, ())
            assumed = [f"+{name}" for name in baseline]
        return ",".join([*assumed, *given])

    @functools.cached_property
    def abi(self) -> str:
        """LLVM's name of the calling convention; empty for the one that it takes by itself."""
        if "mabi" in self.attrs:
            return self.attrs["mabi"]
        # What systems on 64-bit RISC-V are compiled for; LLVM takes the one without a
        # floating-point unit, and the linker refuses to mix them.
        return "lp64d" if self.architecture == "riscv64" and "d" in self.features else ""

    @functools.cached_property
    def vector_bits(self) -> int:
        """Width of a vector register; 0 for a language that has no vectors."""
        if self.kind.name == "c":
            return 0
        if "vector-width" in self.attrs:
            return self.attrs["vector-width"]
        if self.architecture == "x86_64":
            if "avx512f" in self.features:
                return 512
            return 256 if "avx" in self.features else 128
        return 128

    @functools.cached_property
    def vector_registers(self) -> int:
        """Number of vector registers."""
        return 16 if self.architecture == "x86_64" and "avx512f" not in self.features else 32

    @functools.cached_property
    def has_native_float16(self) -> bool:
        """Whether converting float16 to float32 is an instruction."""
        if self.architecture == "x86_64":
            return "f16c" in self.features
        return self.architecture == "aarch64" or bool({"zfh", "zfhmin"} & self.features)

    @functools.cached_property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is an instruction."""
        return self.architecture != "x86_64" or "fma" in self.features

    @functools.cached_property
    def has_avx512(self) -> bool:
        """Whether the CPU has AVX-512; see `Machine`."""
        return "avx512f" in self.features

    @functools.cached_property
    def dot_products(self) -> frozenset[str]:
        """Dtypes of which vectors have instructions that add products in groups; see `Machine`."""
        # A compiler of C uses the features of a CPU if it is named.
        has_features = self.kind.name != "c" or "mcpu" in self.attrs
        features = self.features if has_features else frozenset()
        return dot_product_dtypes(self.architecture, features, self.vector_bits)

    @functools.cached_property
    def num_cores(self) -> int:
        """Maximum number of threads of a parallel loop."""
        return self.attrs.get("num-cores") or core_count()

    @functools.cached_property
    def cache_sizes(self) -> tuple[int, int, int]:
        """Bytes of the level 1, 2 and 3 caches; those of this machine unless they are given."""
        first, second, third = self.attrs.get("cache-sizes") or cache_sizes()
        return int(first), int(second), int(third)

    @functools.cached_property
    def machine(self) -> Machine:
        """The CPU, as passes, default schedules and estimates of time know it."""
        from tilewright.tir.transform.machine import Machine

        return Machine(
            self.vector_bits, self.vector_registers, self.has_fma, self.has_avx512,
            *self.cache_sizes, self.num_cores, self.dot_products,
        )  # fmt: skip


def _configuration(target: object) -> dict[str, Any]:
    """The parts of a target in any of the forms that `Target` takes."""
    if isinstance(target, Target):
        return target.export()
    if isinstance(target, Mapping):
        return dict(target)
    if not isinstance(target, str):
        raise TargetError(f"a target is a string or a dictionary, got {target!r}")
    text = target.strip()
    if text.startswith("{"):
        try:
            parsed = json.loads(text)
        except ValueError as error:
            raise TargetError(f"target {text!r} is not JSON: {error}") from None
        return _configuration(parsed)
    if text in TAGS:
        return {**TAGS[text], "tag": text}
    return _parse_options(text)


def _parse_options(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"target {text!r}: {error}") from None
    if not words:
        raise TargetError("a target names its kind first, such as 'llvm'")
    result: dict[str, Any] = {"kind": words[0]}
    position = 1
    while position < len(words):
        word = words[position]
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise TargetError(
                f"target {text!r}: expected an option such as -mcpu=..., got {word!r}"
            )
        if not equals and position + 1 < len(words) and not words[position + 1].startswith("-"):
            position += 1
            value = words[position]
        elif not equals:
            value = "1"
        result[name] = value
        position += 1
    return result
