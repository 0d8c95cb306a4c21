"""Operators on boxes in images."""

from tilewright.topi.vision.non_maximum_suppression import non_max_suppression
from tilewright.topi.vision.roi_align import roi_align_nchw, roi_align_nhwc
