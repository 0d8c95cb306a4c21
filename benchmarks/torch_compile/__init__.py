"""Measures models through `torch.compile`, beside torch itself and Inductor."""
