"""Measures models of ONNX, with floats and quantised, beside onnxruntime."""
