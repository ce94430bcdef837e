"""What a fit takes is known before it starts, and a limit chooses settings."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet import NewtonNetClassifier
from newtonnet.estimator import memory as module
from newtonnet.estimator.candidates import candidates
from newtonnet.estimator.memory import fit_memory, graph_sizes, state_memory, within
from newtonnet.graphs import from_edges
from newtonnet.memory import resident_memory
from newtonnet.nn import build
from newtonnet.training import member_bytes

CONFIG = {"max_epochs": 10, "patience": 5, "metric": "accuracy"}


@pytest.fixture(params=["dense", "sparse"])
def graph(request):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 12)).astype(np.float32)
    if request.param == "sparse":
        places = np.argsort(rng.random((500, 40)), axis=1)[:, :3].ravel()
        features = sp.csr_array((np.ones(1500, dtype=np.float32), places, np.arange(501) * 3), shape=(500, 40))
    return from_edges(rng.integers(500, size=(2, 2000)), features, labels=rng.integers(3, size=500))


def listed(model="newtonnet", *, transductive=True):
    return candidates(model, {}, CONFIG, transductive=transductive, labels=True)


@pytest.mark.parametrize("model", ["newtonnet", "tuned-gcn"])
def test_a_member_is_known_from_two_small_graphs(graph, model):
    for one in {repr(one.setting.options): one for one in listed(model)[:12] if one.model != "boosting"}.values():
        if one.model == "ridge":
            continue
        population = build(one.model, graph, one.setting.options, seeds=[0])
        inputs = population.prepare(graph).show(torch.tensor(graph.truth))
        real, guessed = (
            member_bytes(population, inputs),
            module._member(*one[:1], one.setting.options, graph_sizes(graph)),
        )
        assert guessed.kept == pytest.approx(real.kept, rel=0.02)
        assert guessed.owned == pytest.approx(real.owned, rel=0.02)
        assert guessed.largest == pytest.approx(real.largest, rel=0.02)


def test_a_limit_leaves_out_settings_and_names_them(graph):
    sizes, every = graph_sizes(graph)._replace(nodes=200_000, entries=10**6), listed(transductive=False)
    whole = fit_memory(every, sizes, folds=5, threads=2)
    enough, _, nothing = within(every, sizes, folds=5, resident=0, limit=2 * whole.most)
    assert enough == every
    assert nothing == ""
    few, room, note = within(every, sizes, folds=5, resident=0, limit=whole.most // 3)
    assert 0 < len(few) < len(every)
    assert [one for one in every if one in few] == few
    assert note.startswith(f"{len(every) - len(few)} settings left out, of ")
    assert "newton-stack" in note
    assert fit_memory(few, sizes, folds=5, threads=2, max_memory=room).most <= whole.most // 3


def test_the_least_that_an_error_names_is_enough(graph):
    sizes, every = graph_sizes(graph), listed()
    with pytest.raises(ValueError, match="max_memory is 1 MB, but this fit takes at least ") as refused:
        within(every, sizes, folds=5, resident=10**8, limit=10**6)
    least = int(str(refused.value).split("at least ")[1].split(" MB")[0].replace(",", ""))
    assert within(every, sizes, folds=5, resident=10**8, limit=least * 10**6)[0]
    with pytest.raises(ValueError, match=r"at least 5,000 MB"):
        within(every, sizes, folds=5, resident=10**8, limit=10**9, reached=5 * 10**9)


def test_a_fit_within_a_limit_says_what_it_left_out(graph, monkeypatch):
    monkeypatch.setattr(module, "STARTED", 0)
    monkeypatch.setattr(module, "bank_memory", lambda model, *_: 10**6 if model == "ridge" else 10**12)
    limit = 2 * resident_memory() + 10**9
    fitted = NewtonNetClassifier(max_memory=limit, time_limit=3.0, max_epochs=5, threads=1).fit(graph)
    count = sum(one.model == "boosting" for one in listed())
    assert any(note.startswith(f"{count} settings left out, of boosting: ") for note in fitted.notes_)
    assert "boosting" not in {row["model"] for row in fitted.leaderboard_}


def test_a_limit_in_words_is_a_limit_in_bytes(graph):
    assert NewtonNetClassifier(max_memory="2GB").limit == NewtonNetClassifier(max_memory=2 * 10**9).limit == 2 * 10**9
    with pytest.raises(ValueError, match="this fit takes at least"):
        NewtonNetClassifier(max_memory="1MB").fit(graph)


def test_out_of_core_takes_the_columns_that_a_limit_allows(graph):
    sizes = graph_sizes(graph)._replace(nodes=10**6, features=100, feature_entries=None)
    options = listed()[1].setting.options
    free, cut = (module.out_of_core_memory(options, sizes, limit) for limit in (None, 3 * 10**8))
    assert free > 10**9
    assert cut <= 3.5 * 10**8


@pytest.mark.parametrize(
    ("first", "most", "limit", "line"),
    [
        (10**9, 10**9, None, "memory: about 1.5 GB at most"),
        (10**9, 4 * 10**9, None, "memory: about 1.5 GB, up to 4.5 GB if there is time for all of gcn"),
        (10**9, 4 * 10**9, 10**9, "memory: about 1.0 GB at most"),
        (0, 0, None, "memory: about 900 MB at most"),
    ],
)
def test_the_peak_is_one_line_in_plain_words(first, most, limit, line):
    needs = [module.FitMemory(first, most, "gcn"), module.FitMemory(0, 0, "mlp")]
    assert state_memory(needs, resident=45 * 10**7, reached=9 * 10**8, page=0, limit=limit) == line
