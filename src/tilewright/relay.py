"""Relay, the graphs of TVM before relax, is not here; whoever imports it gets a pointer."""

raise ImportError(
    "Tilewright has no relay; models are graphs of tilewright.relax, and models of PyTorch become "
    "one by tilewright.relax.frontend.torch.from_exported_program"
)
