"""`python -m benchmarks.suite`, which is `python -m benchmarks suite`."""

from benchmarks.harness.command import main

if __name__ == "__main__":
    main()
