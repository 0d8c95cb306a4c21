"""The functions that make tensor programs, a file per group; `tilewright.script.tir` has them all."""
