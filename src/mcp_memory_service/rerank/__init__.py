"""Texts scored against a query, each read together with it: the port that every re-ranker keeps, and the re-rankers."""
