"""The sockets of a process and its children that lead to other machines, as the kernel lists them.

Python code is watched by its audit hook (`watched.py`); this also sees what native code opens.
"""

import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path

TABLES = ("tcp", "tcp6", "udp", "udp6")
SOCKET = re.compile(r"socket:\[(\d+)\]")


def foreign_sockets(process: int) -> set[str]:
    inodes = {inode for pid in _family(process) for inode in _inodes(pid)}
    return {remote for table in TABLES for inode, remote in _rows(table) if inode in inodes and not _is_here(remote)}


def _family(process: int) -> Iterator[int]:
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _read(children).split():
            yield from _family(int(child))


def _inodes(process: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{process}/fd").glob("*"):
        try:
            found = SOCKET.fullmatch(str(descriptor.readlink()))
        except OSError:  # closed meanwhile
            continue
        if found:
            yield found[1]


def _rows(table: str) -> Iterator[tuple[str, str]]:
    """Inode and remote address of each."""
    for line in _read(Path(f"/proc/net/{table}")).splitlines()[1:]:
        columns = line.split()
        yield columns[9], address(columns[2].partition(":")[0])


def address(digits: str) -> str:
    """`0100007F` → `127.0.0.1`: words of four bytes, each with its last byte first."""
    words = [bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def _is_here(remote: str) -> bool:
    found = ipaddress.ip_address(remote)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return found.is_unspecified or (mapped or found).is_loopback


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process ended meanwhile
        return ""
