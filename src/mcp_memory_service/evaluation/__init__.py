"""How well memories are found: evaluation sets, metrics, sweeps, and weights fitted to a corpus."""
