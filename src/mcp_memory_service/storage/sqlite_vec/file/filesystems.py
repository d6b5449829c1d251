"""Which file system a path is on, and whether SQLite can be trusted there.

Write-ahead logging needs memory that all processes share. Network mounts, and folders that a virtual machine shares
with its host, do not share it, and the file is damaged without an error.
"""

from pathlib import Path
from typing import NamedTuple

from ....errors import UnsafeFilesystem
from .connection import real_path, require_safe_sqlite

MOUNTS = Path("/proc/self/mountinfo")  # Linux; elsewhere nothing is detected

_SHARED_TYPES = frozenset(
    "9p afs ceph cifs coda drvfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 prl_fs smb3 smbfs"
    " vboxsf virtiofs vmhgfs".split()
)
# What stands behind these FUSE mounts is another machine, or the host of this one.
_SHARED_FUSE = frozenset(
    "ceph curlftpfs davfs gcsfuse glusterfs goofys grpcfuse httpfs juicefs osxfs prl_fs rclone s3fs seaweedfs smbnetfs"
    " sshfs vmhgfs-fuse".split()
)


class Mount(NamedTuple):
    point: str
    kind: str


def require_trustworthy(path: Path, *, on_any_filesystem: bool) -> None:
    """Refuse an SQLite that can damage a file, and a path on a mount where other machines may write, or where memory is
    not shared."""
    require_safe_sqlite()
    if on_any_filesystem or not MOUNTS.exists():
        return
    mount = mount_of(real_path(path), MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    if mount is not None and is_shared(mount.kind):
        raise UnsafeFilesystem(
            f"{path} is on {mount.point}, a {mount.kind} mount: SQLite's write-ahead log can damage a file there"
            " without an error. Name a file on a local disk with MCP_MEMORY_SQLITE_PATH, serve it from one machine,"
            " or use Qdrant; MCP_MEMORY_ALLOW_NETWORK_FILESYSTEM=true opens it all the same."
        )


def is_shared(kind: str) -> bool:
    family, _, name = kind.partition(".")
    return name in _SHARED_FUSE if family == "fuse" else kind in _SHARED_TYPES


def mount_of(path: Path, mounts: str) -> Mount | None:
    """The mount that holds a path, from the text of mountinfo; of two at the same place the later one covers."""
    found: Mount | None = None
    for line in mounts.rstrip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        point = _unescaped(before.split(" ")[4])
        if path.is_relative_to(point) and (found is None or len(point) >= len(found.point)):
            found = Mount(point, after.split(" ")[0])
    return found


def _unescaped(text: str) -> str:
    """Blanks and the like are octal there."""
    for character in " \t\n\\":
        text = text.replace(f"\\{ord(character):03o}", character)
    return text
