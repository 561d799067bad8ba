"""The cache of compiled templates keeps the folders that were used last."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from refgrad.native.runners import compiled_cache


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Create three folders of 100, 200 and 400 bytes, in the order of their last use, and one of somebody else."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "other").mkdir()
    paths = []
    for age, size in ((3, 100), (2, 200), (1, 400)):
        path, held = compiled_cache.hold(f"key{size}")
        os.close(held)
        Path(path, "compiled").write_bytes(bytes(size))
        os.utime(path, (1000 - age, 1000 - age))
        paths.append(path)
    yield paths
    assert (tmp_path / "other").is_dir()


@pytest.mark.parametrize(("limit", "kept"), [(700, 3), (699, 2), (600, 2), (599, 1), (400, 1), (399, 0), (0, 0)])
def test_the_folders_that_were_used_last_are_kept(folders: list[str], limit: int, kept: int) -> None:
    gone = folders[: 3 - kept]
    assert compiled_cache.remove(limit) == dict(zip(gone, (100, 200, 400), strict=False))
    assert [Path(path).exists() for path in folders] == [path not in gone for path in folders]


def test_all_are_removed_but_those_that_are_held(folders: list[str]) -> None:
    path, held = compiled_cache.hold("key200")
    assert path == folders[1]
    with pytest.raises(BlockingIOError):
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert set(compiled_cache.remove()) == {folders[0], folders[2]}
    os.close(held)
    assert compiled_cache.remove() == {path: 200}


def test_a_folder_is_of_one_user_and_the_one_used_last(folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path, held = compiled_cache.hold("key100")
    os.close(held)
    assert path == folders[0]
    assert stat.S_IMODE(Path(path).stat().st_mode) == stat.S_IRWXU
    assert Path(path).stat().st_mtime > Path(folders[2]).stat().st_mtime
    user = os.getuid() + 1
    monkeypatch.setattr("os.lstat", lambda _: os.stat_result([0] * 4 + [user] + [0] * 5))
    with pytest.raises(RuntimeError, match="belongs to another user"):
        compiled_cache.hold("key100")
