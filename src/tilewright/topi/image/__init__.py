"""Operators of images."""

from tilewright.topi.image.resize import resize2d
