"""Sums of products: how their loops are tiled, with decisions left to the tuner."""
