from types import SimpleNamespace

from newtonnet import cluster
from newtonnet.cli.options import Place


def test_a_ray_of_our_own_listens_on_this_machine_only():
    called = {}
    cluster._connect(SimpleNamespace(init=lambda *names, **options: called.update(options, names=names)), None, 1)
    assert called["names"] == ("local",)
    assert called["_node_ip_address"] == "127.0.0.1"
    assert called["include_dashboard"] is False


def test_auto_says_which_cluster_it_found(monkeypatch, capsys):
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    monkeypatch.setattr(cluster, "_check_answers", lambda address: None)
    assert Place("ray", "auto").find() == "head:6379"
    assert "Ray cluster: head:6379" in capsys.readouterr().err
