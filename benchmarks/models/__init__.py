"""Measures whole models, beside torch and onnxruntime."""
