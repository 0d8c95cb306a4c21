"""Operators on boxes in images."""

from tilewright.topi.vision.roi_align import roi_align_nchw, roi_align_nhwc
