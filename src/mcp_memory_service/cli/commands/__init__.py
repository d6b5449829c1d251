"""The commands: each with its flags, its help and its body in one place."""
