"""What schedule primitives prove of a program before they change it, and counterexamples."""
