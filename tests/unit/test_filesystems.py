"""Mounts where SQLite damages files are recognised and refused."""

from pathlib import Path

import pytest

from mcp_memory_service.errors import UnsafeFilesystem
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file import filesystems
from mcp_memory_service.storage.sqlite_vec.file.filesystems import Mount, is_shared, mount_of

MOUNTS = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid shared:5 - proc proc rw
24 22 0:40 / /home/anna/My\040Share rw shared:9 - nfs4 nas:/share rw,vers=4.2
25 22 0:41 / /mnt/host rw - 9p host rw,trans=virtio
26 22 0:42 / /srv rw - ext4 /dev/vdb rw
27 26 0:43 / /srv rw - virtiofs work rw
28 22 0:44 / /mnt/hostile rw - fuse.sshfs me@there: rw
"""


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/home/anna/memories.db", Mount("/", "ext4")),
        ("/home/anna/My Share/memories.db", Mount("/home/anna/My Share", "nfs4")),
        ("/home/anna/My Shared/memories.db", Mount("/", "ext4")),
        ("/mnt/host/a/b.db", Mount("/mnt/host", "9p")),
        ("/srv/memories.db", Mount("/srv", "virtiofs")),
        ("/mnt/hostile/x.db", Mount("/mnt/hostile", "fuse.sshfs")),
    ],
)
def test_the_mount_of_a_path_is_the_innermost_and_last(path: str, mount: Mount):
    assert mount_of(Path(path), MOUNTS) == mount


def test_which_kinds_are_refused():
    refused = {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "vboxsf", "ceph", "fuse.sshfs", "fuse.rclone"}
    fine = {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "fuse.mergerfs", "f2fs"}
    assert {kind for kind in refused | fine if is_shared(kind)} == refused


async def test_a_store_on_such_a_mount_is_refused_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"{MOUNTS}30 22 0:50 / {tmp_path} rw - virtiofs tag rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    path = tmp_path / "memories.db"
    with pytest.raises(UnsafeFilesystem, match=r"virtiofs mount.*MCP_MEMORY_ALLOW_NETWORK_FILESYSTEM"):
        await SqliteVecStorage.open(path, "m", 4, indexed_text)
    assert not path.exists()
    store = await SqliteVecStorage.open(path, "m", 4, indexed_text, on_any_filesystem=True)
    await store.close()


async def test_a_link_to_such_a_mount_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 22 0:50 / {tmp_path / 'far'} rw - nfs nas:/ rw\n")
    monkeypatch.setattr(filesystems, "MOUNTS", mounts)
    with pytest.raises(UnsafeFilesystem):
        await SqliteVecStorage.open(tmp_path / "near" / "memories.db", "m", 4, indexed_text)
