"""`mcp-memory` in a process that notes every address it connects to or asks a name for, before it does.

`python -m tests.fuzz.watched NOTES serve --http-port 0`.
"""

import ipaddress
import sys
from pathlib import Path
from typing import Any, cast

# What leads out of a process, as Python tells its audit hooks: name of the event, position of the address.
EVENTS = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
    "socket.getnameinfo": 0,
}


def is_foreign(address: Any) -> bool:
    """Not this machine: neither a loopback address or name nor a socket in the file system."""
    host = cast("tuple[Any, ...]", address)[0] if isinstance(address, tuple) else address
    if not isinstance(host, str) or host.startswith("/"):
        return False
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host != "localhost"


def watch(notes: Path) -> None:
    """From now on; a hook cannot be taken back, so this is for processes of their own."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        position = EVENTS.get(event)
        if position is not None and is_foreign(arguments[position]):
            with notes.open("a") as file:
                file.write(f"{event} {arguments[position]!r}\n")

    sys.addaudithook(hook)


def main() -> None:
    watch(Path(sys.argv[1]))
    # Its connections do not pass Python's sockets, and so not the hook; without it the server takes asyncio's loop.
    sys.modules["uvloop"] = None  # pyright: ignore[reportArgumentType]
    sys.argv = ["mcp-memory", *sys.argv[2:]]
    from mcp_memory_service.cli import main as run  # noqa: PLC0415 - what it imports is watched as well

    run()


if __name__ == "__main__":
    main()
