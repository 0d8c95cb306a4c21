"""Measuring without building and running anything: times are functions of the program."""

import tempfile
from pathlib import Path

from tilewright.ir import structural_hash
from tilewright.tune.measure import Builder, BuilderResult, Runner, RunnerFuture, RunnerResult


def seconds_of(mod):
    """A number from 1 to 2 that tells a program from others."""
    return 1.0 + structural_hash(mod) % 1000 / 1000


class PaperBuilder(Builder):
    """Writes the time of a program to a file."""

    def __init__(self, directory, fails=False):
        self.directory, self.fails = directory, fails

    def build(self, build_inputs):
        return [self._built(item) for item in build_inputs]

    def _built(self, item):
        if self.fails:
            return BuilderResult(None, "there is no compiler", "build")
        path = Path(tempfile.mkdtemp(dir=self.directory)) / "code"
        path.write_text(str(seconds_of(item.mod)))
        return BuilderResult(str(path), seconds=0.25)


class PaperRunner(Runner):
    """Reads the time; what is measured again takes `again` times as long."""

    def __init__(self, again=1.0):
        self.again = again

    def run(self, runner_inputs):
        return [self._future(item) for item in runner_inputs]

    def _future(self, item, factor=1.0):
        seconds = factor * float(Path(item.artifact_path).read_text())
        return RunnerFuture(lambda: True, lambda: RunnerResult([seconds, seconds], seconds=0.5))

    def remeasure(self, runner_inputs):
        return [self._future(item, self.again).result() for item in runner_inputs]


def paper_option(directory, again=1.0, fails=False):
    """What `measure_option` returns, with these."""
    return {"builder": PaperBuilder(directory, fails), "runner": PaperRunner(again)}
