"""`python -m tests.qdrant_stand_in FOLDER [--port N] [--api-key KEY]`: serves on loopback until it is stopped."""

import argparse
import socket
from pathlib import Path

import uvicorn

from .app import VERSION, create_app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key")
    parser.add_argument("--version", default=VERSION, help="what it calls itself")
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", options.port))
    app = create_app(options.folder, options.api_key, options.version)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
