"""Compiled code that is kept between processes."""

import os
import subprocess
import sys
import time

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
