"""Compiled code that is kept between processes."""

import os
import stat
import subprocess
import sys
import time
import warnings

import pytest

from tilewright.driver import object_cache
from tilewright.driver.object_cache import ObjectCache, default_cache, key_of, target_facts
from tilewright.target import Target


def test_what_is_put_is_found_by_others(tmp_path):
    ObjectCache(tmp_path).put("abcd", b"content")
    assert ObjectCache(tmp_path).get("abcd") == b"content"
    assert ObjectCache(tmp_path).get("abce") is None
    assert ObjectCache(tmp_path / "absent").get("abcd") is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"x" + b[1:], lambda b: b""])
def test_damaged_files_are_ignored_and_replaced(tmp_path, damage):
    cache = ObjectCache(tmp_path)
    cache.put("abcd", b"content")
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("abcd") is None
    cache.put("abcd", b"content")
    assert cache.get("abcd") == b"content"


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    cache = ObjectCache(file)
    cache.put("abcd", b"content")
    assert cache.get("abcd") is None


def test_the_oldest_files_are_removed(tmp_path):
    cache = ObjectCache(tmp_path)
    for number in range(4):
        cache.put(f"key{number}", bytes(1000))
        (path,) = tmp_path.glob(f"*/key{number}*")
        os.utime(path, (number, number))
    assert cache.get("key0") is not None  # now the youngest
    cache.trim(2500)
    assert [cache.get(f"key{n}") is not None for n in range(4)] == [True, False, False, True]


def test_a_file_that_would_drive_out_all_others_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(object_cache, "FILE_LIMIT", 10)
    cache = ObjectCache(tmp_path)
    cache.put("abcd", b"12345", memoryview(b"67890"))
    cache.put("abce", b"12345", b"678901")
    assert (cache.get("abcd"), cache.get("abce")) == (b"1234567890", None)


def test_what_a_crash_left_unfinished_is_removed(tmp_path):
    cache = ObjectCache(tmp_path)
    cache.put("abcd", b"content")
    (directory,) = tmp_path.iterdir()
    for name, seconds in (("old.tmp", 7200), ("new.tmp", 60)):
        (directory / name).write_bytes(b"cont")
        then = time.time() - seconds
        os.utime(directory / name, (then, then))
    cache.trim()
    assert [path.name for path in sorted(directory.iterdir())] == ["abcd.bin", "new.tmp"]


def test_contents_can_be_mapped(tmp_path):
    cache = ObjectCache(tmp_path)
    assert cache.get_mapped("abcd") is None
    cache.put("abcd", b"content")
    assert bytes(cache.get_mapped("abcd")) == b"content"
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get_mapped("abcd") is None
    path.write_bytes(b"")
    assert cache.get_mapped("abcd") is None


def test_no_file_is_left_over(tmp_path):
    ObjectCache(tmp_path).put("abcd", b"content")
    assert len(list(tmp_path.glob("*/*"))) == 1


def test_the_directory_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    default_cache().put("abcd", b"x")
    assert ObjectCache(tmp_path).get("abcd") == b"x"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "")
    assert default_cache() is None
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    default_cache().put("abcd", b"y")
    assert ObjectCache(tmp_path / "cache" / "tilewright").get("abcd") == b"y"


def test_keys_depend_on_all_parts_and_on_the_package(monkeypatch):
    assert key_of(["a", "b"]) == key_of(["a", "b"])
    assert len({key_of(parts) for parts in (["a", "b"], ["ab"], ["", "ab"], ["a"], [])}) == 5
    before = key_of(["a"])
    monkeypatch.setattr(object_cache, "package_fingerprint", lambda: "another version")
    assert key_of(["a"]) != before


def test_keys_depend_on_the_machine():
    targets = ("llvm", "llvm -mcpu=haswell", "llvm -num-cores=3", "llvm -mtriple=aarch64-linux-gnu")
    assert len({target_facts(Target(target)) for target in targets}) == 4


def test_processes_write_the_same_file_at_the_same_time(tmp_path):
    program = (
        "import sys; from tilewright.driver.object_cache import ObjectCache\n"
        "cache = ObjectCache(sys.argv[1])\n"
        "for _ in range(200):\n"
        "    cache.put('abcd', b'content' * 1000)\n"
        "    assert cache.get('abcd') == b'content' * 1000\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]


# --- who may have written it ---------------------------------------------------------------------


def cache_with_content(directory):
    cache = ObjectCache(directory)
    cache.put("abcd", b"content")
    assert cache.get("abcd") == b"content"
    return cache


def assert_refused(cache, match):
    with pytest.warns(UserWarning, match=match):
        assert cache.get("abcd") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert cache.get_mapped("abcd") is None
        assert cache.get("abcd") is None
        cache.put("abcd", b"other")


@pytest.mark.parametrize("bits", [stat.S_IWGRP, stat.S_IWOTH])
@pytest.mark.parametrize("which", ["", "ab", "ab/abcd.bin"])
def test_what_others_may_write_is_not_used(tmp_path, which, bits):
    cache = cache_with_content(tmp_path / "cache")
    path = tmp_path / "cache" / which
    path.chmod(path.stat().st_mode | bits)
    assert_refused(cache, r"is not used: other users may write .*`chmod -R go-w`")


@pytest.mark.parametrize("which", ["", "ab", "ab/abcd.bin"])
def test_symbolic_links_are_not_followed(tmp_path, which):
    cache = cache_with_content(tmp_path / "cache")
    path = tmp_path / "cache" / which
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match="is a symbolic link"):
        assert cache.get("abcd") is None
    before = sorted(str(p) for p in (tmp_path / "elsewhere").rglob("*"))
    cache.trim(0)
    if which != "ab/abcd.bin":
        cache.put("abcd", b"other")
        assert sorted(str(p) for p in (tmp_path / "elsewhere").rglob("*")) == before


@pytest.mark.parametrize("owner", ["another", "root"])
@pytest.mark.parametrize("kind", [stat.S_IFDIR, stat.S_IFREG])
def test_what_belongs_to_another_user_is_not_used(tmp_path, monkeypatch, owner, kind):
    cache = cache_with_content(tmp_path / "cache")
    fstat, me = os.fstat, os.geteuid()

    class Status:
        def __init__(self, status):
            self._status = status
            is_kind = stat.S_IFMT(status.st_mode) == kind
            self.st_uid = {"another": 12345, "root": 0}[owner] if is_kind else me

        def __getattr__(self, name):
            return getattr(self._status, name)

    monkeypatch.setattr(os, "fstat", lambda file: Status(fstat(file)))
    if owner == "root":
        assert cache.get("abcd") == b"content"
    else:
        assert_refused(cache, "belongs to another user")


def test_only_the_user_can_read_and_write_what_is_made(tmp_path):
    before = os.umask(0)
    try:
        cache_with_content(tmp_path / "deep" / "cache")
    finally:
        os.umask(before)
    modes = [
        stat.S_IMODE((tmp_path / "deep" / "cache" / part).stat().st_mode)
        for part in ("", "ab", "ab/abcd.bin")
    ]
    assert modes == [0o700, 0o700, 0o600]


def test_a_file_under_another_name_is_damaged(tmp_path):
    cache = cache_with_content(tmp_path)
    (tmp_path / "ab" / "abcd.bin").rename(tmp_path / "ab" / "abce.bin")
    assert cache.get("abce") is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_not_a_file_is_not_read(tmp_path, make):
    (tmp_path / "ab").mkdir(0o700)
    make(tmp_path / "ab" / "abcd.bin", 0o700)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ObjectCache(tmp_path).get("abcd") is None


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no space")

    cache = cache_with_content(tmp_path)
    monkeypatch.setattr(os, "replace", fail)
    cache.put("abce", b"content")
    assert [path.name for path in tmp_path.glob("*/*")] == ["abcd.bin"]


def test_keys_depend_on_llvm(monkeypatch):
    import llvmlite.binding

    before = object_cache.package_fingerprint.__wrapped__()
    monkeypatch.setattr(llvmlite.binding, "llvm_version_info", (1, 2, 3))
    assert object_cache.package_fingerprint.__wrapped__() != before


def test_keys_depend_on_the_features_of_the_cpu_and_options():
    targets = ("llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v3 -mattr=-fma", "llvm -mcpu=x86-64-v2")
    assert len({target_facts(Target(target)) for target in targets}) == 3
