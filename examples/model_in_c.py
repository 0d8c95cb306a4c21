"""A model as one library with its weights, and a C program that runs it without Python.

python examples/model_in_c.py [DIRECTORY]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import relax
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


@I.ir_module
class Classifier:
    """A convolution and a linear layer, for any number of images."""

    @R.function
    def main(
        image: R.Tensor(("n", 1, 16, 16), "float32"),
        filters: R.Tensor((8, 1, 3, 3), "float32"),
        weight: R.Tensor((392, 10), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            features = R.nn.relu(R.nn.conv2d(image, filters))
            pooled = R.nn.max_pool2d(features, pool_size=[2, 2], strides=[2, 2])
            flat = R.reshape(pooled, (n, 392))
            scores = R.nn.softmax(R.matmul(flat, weight))
            R.output(scores)
        return scores


PROGRAM = r"""
#include <stdio.h>
#include "classifier.h"

int main(void) {
  enum { IMAGES = 2 };
  float images[IMAGES][16 * 16], scores[IMAGES][10];
  FILE *file = fopen("images.raw", "rb");
  if (!file || fread(images, sizeof images, 1, file) != 1) return 1;
  fclose(file);
  if (classifier_main(images[0], scores[0], IMAGES) != 0) return 1;
  for (int i = 0; i < IMAGES; ++i) {
    int best = 0;
    for (int k = 1; k < 10; ++k) best = scores[i][k] > scores[i][best] ? k : best;
    printf("image %d: class %d, %.4f\n", i, best, scores[i][best]);
  }
  return 0;
}
"""


def main(directory: Path) -> None:
    random = np.random.default_rng(0)
    weights = {
        "filters": random.standard_normal((8, 1, 3, 3)).astype("float32"),
        "weight": (random.standard_normal((392, 10)) / 8).astype("float32"),
    }
    executable = relax.build(Classifier, target="llvm", params=weights)
    print(executable.stats())

    images = random.standard_normal((2, 1, 16, 16)).astype("float32")
    scores = relax.VirtualMachine(executable, tvm.cpu())["main"](images).numpy()
    for number, row in enumerate(scores):
        print(f"image {number}: class {row.argmax()}, {row.max():.4f}")

    executable.export_library(directory / "classifier.so")
    executable.export_header(directory / "classifier.h")
    images.tofile(directory / "images.raw")
    (directory / "main.c").write_text(PROGRAM)
    include = tvm.runtime.include_directory()
    command = ["cc", "-I", include, "main.c", "./classifier.so", "-lm", "-o", "main"]
    subprocess.run(command, cwd=directory, check=True)
    print("\nThe C program says:")
    environment = {"LD_LIBRARY_PATH": "."}
    ran = subprocess.run(
        ["./main"], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    print(ran.stdout, end="")
    needed = subprocess.run(["ldd", "main"], cwd=directory, capture_output=True, text=True)
    print("Python is not in it." if "python" not in needed.stdout else needed.stdout)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
