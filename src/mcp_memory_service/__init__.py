"""A memory backend for AI agents: store short texts, find the few that matter, see why."""

__version__ = "0.1.0"
