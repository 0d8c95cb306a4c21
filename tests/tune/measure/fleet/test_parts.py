"""Cores, layouts, versions, and what is said where there is no Ray."""

from __future__ import annotations

import socket
import sys

import pytest

from tilewright.error import ArgumentValueError, TVMError
from tilewright.tune.measure import Builder, Runner
from tilewright.tune.measure.fleet.cores import CoreLease
from tilewright.tune.measure.fleet.layout import Layout, layout
from tilewright.tune.measure.fleet.ray_cluster import RayConnection
from tilewright.tune.measure.fleet.versions import describe_difference, versions


def test_no_core_is_leased_twice(tmp_path):
    first = CoreLease(2, {0, 1, 2, 3}, tmp_path)
    second = CoreLease(1, {0, 1, 2, 3}, tmp_path)
    assert (first.cores, second.cores) == ({2, 3}, {1})
    assert first.is_exclusive
    assert second.is_exclusive
    third = CoreLease(2, {0, 1, 2, 3}, tmp_path)
    assert (third.cores, third.is_exclusive) == ({2, 3}, False)
    assert CoreLease(1, {0, 1, 2, 3}, tmp_path).cores == {0}, "the third holds none"


def test_cores_are_free_again(tmp_path):
    lease = CoreLease(None, {0, 1}, tmp_path)
    assert lease.cores == {0, 1}
    lease.release()
    assert CoreLease(1, {0, 1}, tmp_path).cores == {1}
    assert CoreLease(8, {0, 1}, tmp_path / "..").cores == {0, 1}


def test_layouts():
    assert layout([8, 8, 8], 1) == Layout(runners=3, builders=3, processes=7)
    assert layout([8, 64], 4) == Layout(runners=2, builders=2, processes=4)
    assert layout([8] * 6, 8) == Layout(runners=4, builders=2, processes=8)
    assert layout([2], 2) == Layout(runners=1, builders=1, processes=2, shares=True)
    assert layout([], 1) == Layout(runners=1, builders=1, processes=1, shares=True)


def test_differences_of_versions():
    ours = versions()
    assert describe_difference(ours, ours) is None
    theirs = {**ours, "llvmlite": "0.1"}
    del theirs["Python"]
    text = describe_difference(theirs, ours)
    assert f"llvmlite 0.1, here {ours['llvmlite']}" in text
    assert "Python (none), here 3" in text
    assert "Tilewright" not in text


@pytest.mark.parametrize("create", [Builder.create, Runner.create])
def test_without_ray_there_is_a_hint(monkeypatch, create):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(TVMError, match=r'pip install "tilewright\[ray\]"'):
        create("ray")


def test_addresses_without_a_cluster():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TVMError, match=f"no cluster of Ray at '127.0.0.1:{port}'"):
        RayConnection(f"127.0.0.1:{port}")
    with pytest.raises(ArgumentValueError, match="are not supported: run the tuner on a machine"):
        RayConnection("ray://127.0.0.1:10001")
