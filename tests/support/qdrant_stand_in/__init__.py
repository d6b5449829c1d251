"""A stand-in for a Qdrant server where none can be started.

It speaks the part of Qdrant's REST API that we use, on top of Qdrant's own engine (`qdrant-edge-py`) in its process:
client, transport and engine are real, requests are checked against the published models, and only the server around
the engine is ours. It has one shard, no replicas and no background optimizer.
`python -m tests.support.qdrant_stand_in --help`.
"""
