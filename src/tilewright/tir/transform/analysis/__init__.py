"""What the lowering passes find out about a program before they change it."""
