"""What a user calls to compile: `tvm.lower` and `tvm.build`."""
