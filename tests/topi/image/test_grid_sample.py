"""Images at places of a grid, beside numpy, pixel by pixel."""

import itertools
import math

import numpy as np
import pytest
from tests.topi.evaluate import BOTH, evaluate

from tilewright import te, topi
from tilewright.error import ArgumentValueError, ShapeError


def expected(images, grid, method, padding, align_corners):
    batch, channels, *extents = images.shape
    result = np.zeros((batch, channels, *grid.shape[2:]))
    for n, row, column in itertools.product(range(batch), *map(range, grid.shape[2:])):
        places = []
        for extent, at in zip(extents, grid[n, ::-1, row, column], strict=True):
            place = (at + 1) / 2 * (extent - 1) if align_corners else ((at + 1) * extent - 1) / 2
            places.append(np.clip(place, 0, extent - 1) if padding == "border" else place)
        if method == "nearest":
            weights = {tuple(round(place) for place in places): 1.0}
        else:
            low = [math.floor(place) for place in places]
            weights = {
                (low[0] + dy, low[1] + dx): abs(1 - dy - places[0] + low[0])
                * abs(1 - dx - places[1] + low[1])
                for dy, dx in itertools.product((0, 1), repeat=2)
            }
        for (y, x), weight in weights.items():
            if 0 <= y < extents[0] and 0 <= x < extents[1]:
                result[n, :, row, column] += weight * images[n, :, y, x]
    return result


@BOTH
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("align_corners", [True, False])
def test_grid_sample(method, padding, align_corners, symbolic):
    random = np.random.default_rng(0)
    images = random.normal(size=(2, 2, 3, 4)).astype("float32")
    grid = random.uniform(-1.5, 1.5, (2, 2, 2, 3)).astype("float32")
    settings = (method, "NCHW", padding, align_corners)
    result = evaluate(topi.image.grid_sample, images, grid, *settings, symbolic=symbolic)
    wanted = expected(images, grid, method, padding, align_corners)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize(
    ("method", "padding", "rank"),
    [("bicubic", "zeros", 2), ("bicubic", "border", 2), ("bicubic", "reflection", 2),
     ("bilinear", "reflection", 2), ("nearest", "reflection", 3), ("bilinear", "zeros", 3)],
)  # fmt: skip
def test_what_torch_samples(method, padding, rank, align_corners):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    images = random.normal(size=(2, 2, 3, 4, 5)[: rank + 2]).astype("float32")
    grid = random.uniform(-2.5, 2.5, (2, *(3, 2, 4)[:rank], rank)).astype("float32")
    places = np.ascontiguousarray(np.moveaxis(grid, -1, 1))
    layout = "NCHW" if rank == 2 else "NCDHW"
    result = evaluate(
        topi.image.grid_sample, images, places, method, layout, padding, align_corners
    )
    wanted = torch.nn.functional.grid_sample(
        *map(torch.from_numpy, (images, grid)), method, padding, align_corners
    )
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_resample():
    x = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    places, weights = np.array([[0, 2], [1, 1]]), np.array([[0.25, 0.75], [2, 0]], "float32")
    result = evaluate(topi.image.resample, x, places, weights, 1)
    wanted = np.stack([x[:, 0] / 4 + x[:, 2] * 3 / 4, x[:, 1] * 2], 1)
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_places_that_no_integer_can_be():
    images = np.ones((1, 1, 2, 2), "float32")
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], "float32").repeat(2).reshape(1, 2, 2, 2)
    assert not evaluate(topi.image.grid_sample, images, grid).any()


def test_what_is_refused():
    images, grid = te.placeholder((1, 1, 2, 2)), te.placeholder((1, 2, 2, 2))
    with pytest.raises(ArgumentValueError, match="`method` is 'nearest', 'bilinear' or 'bicubic'"):
        topi.image.grid_sample(images, grid, "cubic")
    volumes = te.placeholder((1, 1, 2, 2, 2)), te.placeholder((1, 3, 2, 2, 2))
    with pytest.raises(ArgumentValueError, match="'bicubic' is for images"):
        topi.image.grid_sample(*volumes, "bicubic", "NCDHW")
    with pytest.raises(ShapeError, match="4 dimensions"):
        topi.image.grid_sample(te.placeholder((2, 2)), grid)
