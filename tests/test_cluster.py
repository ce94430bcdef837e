import errno
import subprocess
import sys

import pytest

from newtonnet import cluster
from newtonnet.cli.options import Place

REACHED = """
import socket
from newtonnet.cluster import connected

with connected(cores=1) as ray:
    node, gcs = ray.nodes()[0], ray.get_runtime_context().gcs_address
    for port in (gcs.rpartition(":")[2], node["NodeManagerPort"], node["ObjectManagerPort"]):
        print(*(socket.socket().connect_ex((host, int(port))) for host in ("127.0.0.1", "127.0.0.2")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of this machine")
def test_a_ray_of_our_own_listens_on_one_address_of_this_machine_only():
    pytest.importorskip("ray")
    done = subprocess.run([sys.executable, "-c", REACHED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"0 {errno.ECONNREFUSED}"] * 3


def test_auto_says_which_cluster_it_found(monkeypatch, capsys):
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    monkeypatch.setattr(cluster, "_check_answers", lambda address: None)
    assert Place("ray", "auto").find() == "head:6379"
    assert "Ray cluster: head:6379" in capsys.readouterr().err
