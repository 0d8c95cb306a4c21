"""Tunes a program with the MetaSchedule of Apache TVM, in an environment that has it.

``python tune_apache.py SCRIPT CPU TRIALS FOLDER``, where SCRIPT is a file with the function in the
dialect of the installed version. It needs nothing of this project.
"""

import json
import sys
import time
from pathlib import Path

import tvm  # type: ignore[import-not-found]
from tvm.s_tir import meta_schedule as ms  # type: ignore[import-not-found]


def main() -> None:
    script, cpu, trials, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    function = tvm.script.from_source(Path(script).read_text(encoding="utf-8"))
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": 1})
    start = time.perf_counter()
    database = ms.tune_tir(
        mod=function,
        target=target,
        max_trials_global=trials,
        num_trials_per_iter=min(trials, 64),
        work_dir=str(folder / "work"),
    )
    seconds = time.perf_counter() - start
    schedule = ms.tir_integration.compile_tir(database, function, target)
    tvm.compile(schedule.mod, target=target).export_library(str(folder / "tuned.so"))
    libraries = sorted(str(path) for path in Path(tvm.__file__).parent.rglob("libtvm_runtime.so"))
    facts = {"seconds": seconds, "trials": trials, "libraries": libraries}
    (folder / "summary.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main()
