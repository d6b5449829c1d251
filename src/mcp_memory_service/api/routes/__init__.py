"""The REST routes: each parses, calls one use case, and renders."""
