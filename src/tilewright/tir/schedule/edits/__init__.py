"""Changes of programs that several schedule primitives are made of."""
