"""Texts of the collection, compiled by one version; those of commits are kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.replay.collection import Pair
from tools.replay.program import Texts
from tools.replay.sources import CURRENT, Version, tree
from tools.replay.worker import place
from tools.requirements import ROOT

KEPT = 4
"""The number of commits of which texts are kept."""

DEFINING = ("tools/replay", "benchmarks/suite", "examples")
"""Folders whose files say what the programs are."""


def folder_of(version: Version, build: Path) -> Path:
    """Where the texts of a version are: of a commit, with a hash of the collection."""
    if not version.commit:
        return build / ("current" if version is CURRENT else "base")
    digest = hashlib.sha256(sys.version.encode())
    for part in DEFINING:
        for path in sorted((ROOT / part).rglob("*.py")):
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return build / f"{version.commit[:12]}-{digest.hexdigest()[:12]}"


def missing(pairs: Sequence[Pair], folder: Path) -> list[Pair]:
    """Those of the pairs whose texts are not in the folder."""
    return [pair for pair in pairs if not place(folder, *pair).is_dir()]


def compile_pairs(
    version: Version,
    pairs: Sequence[Pair],
    folder: Path,
    *,
    jobs: int,
    hash_seed: int,
    done: Callable[[], None],
) -> None:
    """Compile programs with a version of the package.

    Args:
        version: whose compiler it is.
        pairs: what is compiled.
        folder: for the texts.
        jobs: the number of processes.
        hash_seed: of Python. It differs between what is compared, so that texts which depend on
            the order of a set differ in every run, not by chance.
        done: called after each pair.

    Raises:
        ChildProcessError: if not all could be compiled.
    """
    if not pairs:
        return
    with tree(version) as root:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(root / "src"), str(ROOT)]),
            "PYTHONHASHSEED": str(hash_seed),
            "TMPDIR": str(root),  # removed with all that is left there
        }
        command = [sys.executable, "-m", "tools.replay.worker", str(folder), "-j", str(jobs)]
        # The folder is searched first: modules of `tests` are those of the version.
        process = subprocess.Popen(
            command, cwd=root, env=environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdin as stream:
                stream.writelines(json.dumps(pair) + "\n" for pair in pairs)
            for _ in process.stdout:
                done()
        finally:
            process.stdout.close()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    if left := missing(pairs, folder):
        raise ChildProcessError(
            f"{version.name}: {len(left)} of {len(pairs)} could not be compiled; see above"
        )


def read(folder: Path, pair: Pair) -> Texts:
    """The texts of a pair."""
    found = sorted(place(folder, *pair).iterdir())
    return {path.name: path.read_text(encoding="utf-8") for path in found}


def forget_old(build: Path, kept: int = KEPT) -> None:
    """Remove the texts of all but the commits that were used last."""
    folders = [path for path in build.iterdir() if "-" in path.name]
    for path in sorted(folders, key=lambda path: path.stat().st_mtime)[:-kept]:
        shutil.rmtree(path)
