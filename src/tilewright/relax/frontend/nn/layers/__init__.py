"""Layers, one file a family; `tilewright.relax.frontend.nn.modules` lists them."""
