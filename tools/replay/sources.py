"""The sources that are compared: those of the working tree, of another folder, or of a commit."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tools.requirements import ROOT

PARTS = ("src", "tests")
"""What is taken of a version: random programs come from its own tests, which know its insides."""


class Version(NamedTuple):
    """A version of the package.

    Attributes:
        name: for people.
        commit: its full hash; empty for a folder.
        folder: where it is, if it is not a commit.
    """

    name: str
    commit: str = ""
    folder: Path | None = None


CURRENT = Version("the working tree", folder=ROOT)


def find_version(text: str) -> Version:
    """The version that the user asks for.

    Args:
        text: a folder with `src`, anything that git takes for a commit, or nothing for the commit
            where the branch left main.

    Raises:
        LookupError: if it is neither.
    """
    if text and (Path(text) / "src").is_dir():
        return Version(text, folder=Path(text).resolve())
    if not text:
        text = _git("merge-base", "HEAD", "main") or "HEAD"
    commit = _git("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
    if not commit:
        raise LookupError(f"{text!r} is neither a commit nor a folder with `src`")
    subject = _git("log", "-1", "--format=%h %s", commit)
    return Version(textwrap.shorten(subject, 70), commit)


@contextmanager
def tree(version: Version) -> Iterator[Path]:
    """A temporary folder with nothing but `PARTS` of a version."""
    with tempfile.TemporaryDirectory(prefix="tilewright-replay-") as name:
        root = Path(name)
        if version.folder is not None:
            for part in PARTS:
                if (version.folder / part).is_dir():
                    (root / part).symlink_to(version.folder / part)
        else:
            command = ["git", "archive", "--format=tar", version.commit, *PARTS]
            packed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(root, filter="data")
        yield root


def _git(*command: str) -> str:
    """What a git command prints; nothing if it fails."""
    if shutil.which("git") is None:
        return ""
    run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""
