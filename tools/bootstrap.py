"""Make a virtual environment with everything that developing, testing and the demo need.

Usage: python3 tools/bootstrap.py .venv
       python3 tools/bootstrap.py .venv-bench requirements-bench.lock    for the benchmarks
       python3 tools/bootstrap.py .venv-docs requirements-docs.lock      for the site

It needs nothing but Python: where the system's Python comes without `ensurepip` (as Debian's does),
pip comes from the system's pip, or from the distribution's package.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINIMUM = (3, 10)
TORCH_FOR_CPUS = "https://download.pytorch.org/whl/cpu"
"""An index of torch without CUDA, which is gigabytes smaller."""

BENCHMARKS = "requirements-bench.lock"
"""What the benchmarks need, torch on the GPU among it if there is one."""


def run(*command: str | Path) -> bool:
    """Whether the command succeeded."""
    return subprocess.run([str(part) for part in command], check=False).returncode == 0


def install_venv_package() -> bool:
    """Install the distribution's package that holds `ensurepip`; needs root."""
    if shutil.which("apt-get") is None:
        return False
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and shutil.which("sudo") is None:
        return False
    return run(*sudo, "apt-get", "update", "-q") and run(
        *sudo, "apt-get", "install", "-y", "-q", "python3-venv"
    )


def create(venv: Path) -> None:
    """Make the environment, with pip in it."""
    if importlib.util.find_spec("ensurepip") and run(sys.executable, "-m", "venv", venv):
        return
    python = venv / "bin" / "python"
    bare = run(sys.executable, "-m", "venv", "--without-pip", "--clear", venv)
    if (
        bare
        and importlib.util.find_spec("pip")
        and run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "pip")
    ):
        return
    if install_venv_package() and run(sys.executable, "-m", "venv", "--clear", venv):
        return
    raise SystemExit(
        "Cannot make a virtual environment: this Python has neither ensurepip nor pip.\n"
        "Install your system's package for it (Debian, Ubuntu: apt-get install python3-venv)."
    )


def has_nvidia_driver() -> bool:
    """Whether this machine has a GPU that torch can use."""
    return ctypes.util.find_library("cuda") is not None


def install_torch(pip: tuple[str | Path, ...], lock: Path) -> None:
    """If the lock file asks for torch or torchvision, get them for CPUs, if they can be had.

    Where it cannot, and for benchmarks on a machine with a GPU, installing the lock file gets it
    from the usual index, with CUDA.
    """
    if has_nvidia_driver() and lock.name == BENCHMARKS:
        return
    for line in lock.read_text().splitlines():
        if line.startswith(("torch==", "torchvision==")):
            run(*pip, "--no-deps", "--retries", "1", "--extra-index-url", TORCH_FOR_CPUS, line)


def write_entry_points(site: Path) -> None:
    """Announce the backend of `torch.compile` as an installed package does."""
    head, group = "[project.entry-points.torch_dynamo_backends]", "[torch_dynamo_backends]"
    section = (ROOT / "pyproject.toml").read_text().partition(head)[2].partition("\n[")[0]
    entries = section.replace('"', "").strip()
    info = site / "tilewright-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tilewright\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"{group}\n{entries}\n")


def main() -> None:
    if sys.version_info < MINIMUM:
        raise SystemExit(f"Python {MINIMUM[0]}.{MINIMUM[1]} or newer is needed: make PYTHON=...")
    venv = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv").absolute()
    if not (venv / "bin" / "pip").exists():
        print("Making the virtual environment (once) ...", flush=True)
        create(venv)
    python = venv / "bin" / "python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    lock = ROOT / (sys.argv[2] if len(sys.argv) > 2 else "requirements-dev.lock")
    install_torch(pip, lock)
    if not run(*pip, "-r", lock):
        raise SystemExit("Installing the requirements failed; the messages above say why.")
    # The package itself: a path file is all that an editable install needs.
    site = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    Path(site, "tilewright-development.pth").write_text(f"{ROOT / 'src'}\n")
    write_entry_points(Path(site))


if __name__ == "__main__":
    main()
