"""`python -m tests.support.qdrant_stand_in FOLDER ...`: serves on loopback until it is stopped."""

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
    parser.add_argument("--certificate", help="for TLS, with --key")
    parser.add_argument("--key")
    parser.add_argument("--grpc-port", type=int)
    parser.add_argument("--version", default=VERSION, help="what it calls itself")
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", options.port))
    app = create_app(options.folder, options.api_key, options.version, options.grpc_port)
    scheme = "https" if options.certificate else "http"
    print(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}", flush=True)  # noqa: T201
    config = uvicorn.Config(
        app, log_level="warning", ssl_certfile=options.certificate, ssl_keyfile=options.key, timeout_keep_alive=60
    )
    uvicorn.Server(config).run(sockets=[listener])


main()
