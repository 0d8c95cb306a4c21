"""These tests need onnx; where it is not installed there is nothing to collect."""

import importlib.util

if importlib.util.find_spec("onnx") is None:
    collect_ignore_glob = ["test_*.py"]
elif any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "torch")):
    collect_ignore = ["test_exported_models.py"]
