"""From loops over blocks and threads of a device to kernels and the code that launches them."""
