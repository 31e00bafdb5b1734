"""Calls that ask for devices run beside them: on a host with two, as a management library of the tests' own says."""
import os

import functions
import pytest

import penstock
from penstock import _abi

FAKE = os.path.join(os.path.dirname(_abi.library().path), "libfake_nvml.so")


@pytest.fixture(scope="module")
def host_with_gpus():
    if not os.path.exists(FAKE):
        pytest.skip("libfake_nvml.so is not built beside libpenstock.so")
    os.environ["PENSTOCK_NVML_LIBRARY"] = FAKE
    try:
        client = penstock.Client(slots=2)
    finally:
        del os.environ["PENSTOCK_NVML_LIBRARY"]
    with client:
        yield client


def test_a_call_sees_the_device_that_it_got(host_with_gpus):
    seen = host_with_gpus.submit(functions.variable, "CUDA_VISIBLE_DEVICES", resources={"GPU": 1}).result()
    assert seen.startswith(("GPU-11111111", "GPU-22222222"))
    assert "," not in seen


def test_parts_of_a_device_run_beside_each_other(host_with_gpus, tmp_path):
    futures = [host_with_gpus.submit(functions.meet_all, str(tmp_path), 4, number, resources={"GPU": 0.5}) for number in range(4)]
    assert [future.result() for future in futures] == [4] * 4


def test_a_call_may_have_several_devices(host_with_gpus):
    seen = host_with_gpus.submit(functions.variable, "CUDA_VISIBLE_DEVICES", resources={"GPU": 2}).result()
    assert [each[:12] for each in seen.split(",")] == ["GPU-11111111", "GPU-22222222"]
    alone = host_with_gpus.submit(functions.variable, "CUDA_VISIBLE_DEVICES", resources={"GPU": 1}).result()
    assert "," not in alone
    with pytest.raises(penstock.PenstockError, match="milli-slots 3000 > 2000"):
        host_with_gpus.submit(functions.variable, "CUDA_VISIBLE_DEVICES", resources={"GPU": 3}).result()


def test_its_memory_is_asked_for_by_name(host_with_gpus):
    with pytest.raises(penstock.PenstockError, match="device memory"):
        host_with_gpus.submit(functions.increment, 1, resources={"GPU": 1, "GPU_MEMORY": 200 << 30}).result()


def test_a_host_without_devices_says_so(client):
    with pytest.raises(penstock.PenstockError, match="gpu"):
        client.submit(functions.increment, 1, resources={"GPU": 1}).result()
