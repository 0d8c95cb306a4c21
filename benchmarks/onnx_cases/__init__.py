"""Runs the test cases of operators that the package onnx generates."""
