"""Replay: a fixed collection of programs, compiled by two versions of the compiler and compared.

A change that is to keep what the compiler does, such as a refactoring, is neutral as far as the
collection shows if no text differs: the schedules, the lowered programs, and the LLVM IR or the C
source. `make replay` compares the working tree with the commit where the branch left main; see
`python -m tools.replay --help`.
"""
