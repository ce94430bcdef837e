"""A training of the precomputed regime that is interrupted ends as one that is not."""

import signal
from dataclasses import replace

import pytest
import torch

from newtonnet.datasets import make_splits
from newtonnet.out_of_core import Batching, train_out_of_core
from newtonnet.out_of_core.keeping import FileKeeper, Progressed, unpack

BATCHING = Batching(batch=200)


class Watch:
    """Counts epochs, and does something in one of them."""

    def __init__(self, at=None, act=None):
        self.epochs, self.at, self.act = 0, at, act

    def __call__(self, progress):
        self.epochs += 1
        if self.epochs == self.at:
            self.act()


def plain(records):
    return [replace(record, outcome=replace(record.outcome, seconds=0.0)).to_json() for record in records]


@pytest.fixture
def run(heterophilous, setting, tmp_path):
    splits = make_splits(heterophilous, count=2)

    def train(watch=None, changes=None, **options):
        config = replace(setting.config, pivot="adjusted", **(changes or {}))
        return train_out_of_core(
            heterophilous,
            splits,
            replace(setting, config=config),
            store=tmp_path / "blocks",
            batching=BATCHING,
            progress=watch,
            **options,
        )

    return train


def assert_same(ours, theirs):
    assert plain(ours[0]) == plain(theirs[0])
    for own, other in zip(ours[1], theirs[1], strict=True):
        assert own.keys() == other.keys()
        assert all(torch.equal(own[name], other[name]) for name in own)


def crash():
    raise RuntimeError("power failure")


@pytest.mark.parametrize("at", [1, 7, 12, 17])
def test_a_crashed_training_goes_on_to_the_same_bits(run, tmp_path, at):
    unbroken = run()
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError, match="power failure"):
        run(Watch(at, crash), checkpoint=path, checkpoint_seconds=0.0)
    rest = Watch()
    assert_same(run(rest, checkpoint=path, checkpoint_seconds=0.0), unbroken)
    # Epochs are kept after they are shown, so the one that crashed is trained again.
    assert rest.epochs == 2 * 12 - (at - 1)
    assert not path.exists()


def test_ctrl_c_waits_for_the_epoch_and_keeps_it(run, tmp_path):
    path, watch = tmp_path / "kept", Watch(5, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(watch, checkpoint=path)
    assert watch.epochs == 5
    rest = Watch()
    assert_same(run(rest, checkpoint=path), run())
    assert rest.epochs == 2 * 12 - 5


def test_ctrl_c_after_the_last_epoch_is_not_lost(tmp_path):
    path = tmp_path / "kept"
    path.write_text("a state")
    with pytest.raises(KeyboardInterrupt), FileKeeper(path, "it").watching():
        signal.raise_signal(signal.SIGINT)
    assert path.exists()


def test_nothing_is_written_before_it_is_time(run, tmp_path):
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError):
        run(Watch(5, crash), checkpoint=path)
    assert not path.exists()


def test_another_trainings_state_is_refused(run, tmp_path):
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError):
        run(Watch(5, crash), checkpoint=path, checkpoint_seconds=0.0)
    with pytest.raises(ValueError, match="belongs to another run"):
        run(changes={"learning_rate": 0.5}, checkpoint=path)
    assert path.exists()


def test_packing_is_undone_by_unpacking(run):
    records, states = run()
    progressed = Progressed(tuple(zip(records, states, strict=True)), {"numbers": torch.arange(3.0)})
    again = unpack(progressed.pack())
    assert_same(tuple(zip(*again.finished, strict=True)), (records, states))
    assert torch.equal(again.begun["numbers"], torch.arange(3.0))
    assert unpack(Progressed().pack()).begun is None
