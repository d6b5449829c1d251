"""Resolving names across the files of a project."""
