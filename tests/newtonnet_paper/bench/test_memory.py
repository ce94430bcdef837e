import pytest

from newtonnet_paper.bench import Size, sized_graph
from newtonnet_paper.bench.memory import Weighing, store, weigh


def test_a_larger_training_is_weighed_in_a_process_of_its_own(tmp_path, tiny_size):
    small = store(sized_graph(tiny_size), tmp_path, name="small")
    # 30000 nodes, 64 hidden units: one block of activations alone has 7.7 MB.
    large = sized_graph(Size("large", nodes=30_000, edges=60_000, largest=200, skew=0.5))
    peaks = weigh([Weighing(small, epochs=1), Weighing(store(large, tmp_path, name="large"), epochs=1)])
    assert 0 < peaks[0] < 400
    assert peaks[1] > peaks[0] + 7.7


def test_a_process_that_fails_is_named(monkeypatch):
    monkeypatch.setattr("newtonnet_paper.bench.memory.sys.executable", "false")
    with pytest.raises(OSError, match="newtonnet on nowhere could not be taken: exit code 1"):
        weigh([Weighing("nowhere.npz")])
