"""Operators of images."""

from tilewright.topi.image.grid_sample import grid_sample
from tilewright.topi.image.resample import resample
from tilewright.topi.image.resize import resize1d, resize2d, resize3d
