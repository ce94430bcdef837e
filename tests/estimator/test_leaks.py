"""No label of a test node reaches anything that is learned: every shape of the portfolio, with and without labels."""

from dataclasses import replace

import numpy as np
import pytest

from newtonnet import NewtonNetClassifier, cross_validate
from newtonnet.datasets import Split, csbm, make_splits
from newtonnet.estimator.candidates import candidates, group_by_shape
from newtonnet.estimator.families import defaults_of, family_of
from newtonnet.estimator.members import Candidate, TrainingOptions
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import override

pytestmark = pytest.mark.usefixtures("few_trees")
EPOCHS = {"max_epochs": 2, "patience": None, "metric": "accuracy"}
GRAPH = csbm(0.3, nodes=90, features=8, seed=2)
DRAWN = make_splits(GRAPH, "random", count=1)[0]
SPLIT = Split(*(np.sort(part) for part in (DRAWN.train, DRAWN.validation, DRAWN.test)))
OPTIONS = TrainingOptions(seed=5, threads=1, sample=SPLIT.test)


def shorter(candidate):
    """Ten trees say as much about leaks as hundreds."""
    if candidate.model != "boosting":
        return candidate
    setting = candidate.setting
    return candidate._replace(setting=replace(setting, options=replace(setting.options, max_iterations=10)))


def shapes(*, labels):
    """One candidate of every shape; without labels, of those that would read them."""
    tried, readers = (
        candidates("newtonnet", {}, EPOCHS, transductive=True, labels=allowed) for allowed in (labels, True)
    )
    tried = tried if labels else [one for one in tried if one not in readers]
    assert tried, "some read labels"
    chosen = [shorter(tried[group[0]]) for group in group_by_shape(dict(enumerate(tried)))]
    return [pytest.param(one, id=f"{one.model}-{i}-{'labels' * labels}") for i, one in enumerate(chosen)]


OUT_OF_CORE = Candidate(OUT_OF_CORE_MODEL, override(defaults_of("newtonnet"), EPOCHS))


def turned(graph, nodes):
    return graph.relabelled(np.where(np.isin(np.arange(graph.nodes), nodes), 1 - graph.labels, graph.labels))


def train(candidate, graph):
    family = family_of(candidate.model)
    ((member,),) = family.train(graph, [candidate], [SPLIT], OPTIONS, stop=lambda: False, progress=lambda _: None)
    return member


def bits(member):
    arrays = {name: tensor.numpy() for name, tensor in member.state.items()}
    arrays |= {"held": member.held, "sampled": member.sampled}
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    "candidate", [*shapes(labels=True), *shapes(labels=False), pytest.param(OUT_OF_CORE, id="out-of-core")]
)
def test_test_labels_change_no_bit_of_a_member(candidate):
    one, two = (train(candidate, graph) for graph in (GRAPH, turned(GRAPH, SPLIT.test)))
    assert bits(one) == bits(two)
    assert one.record.outcome.validation == two.record.outcome.validation
    other = train(candidate, turned(GRAPH, SPLIT.train[:20]))
    assert bits(one) != bits(other), "training labels do"


@pytest.mark.parametrize("labels", [True, False])
def test_test_labels_change_no_bit_of_a_fit(labels):
    classifier = NewtonNetClassifier(time_limit=None, max_epochs=2, folds=2, threads=1, label_inputs=labels)
    few = Split(SPLIT.train[:30], SPLIT.validation, SPLIT.test)
    found = [cross_validate(classifier, graph, [few]).estimators[0] for graph in (GRAPH, turned(GRAPH, SPLIT.test))]
    one, two = (
        [
            (weight, *bits(member).values())
            for weight, member in zip(fit.ensemble_.weights, fit.ensemble_.members, strict=True)
        ]
        for fit in found
    )
    assert one == two
    assert found[0].ensemble_.temperature == found[1].ensemble_.temperature
    assert [a.tobytes() for a in found[0].out_of_fold_.probabilities] == [
        a.tobytes() for a in found[1].out_of_fold_.probabilities
    ]
    assert found[0].homophily_ == found[1].homophily_


@pytest.mark.parametrize("model", ["newton-stack", "boosting", "ridge"])
def test_a_leak_would_be_noticed(model):
    """With test nodes among the training nodes, the same comparison fails."""
    candidate = next(one.values[0] for one in shapes(labels=True) if one.values[0].model == model)
    leaking = Split(np.append(SPLIT.train, SPLIT.test[:1]), SPLIT.validation, SPLIT.test[1:])
    family, found = family_of(model), []
    for graph in (GRAPH, turned(GRAPH, SPLIT.test)):
        ((member,),) = family.train(graph, [candidate], [leaking], OPTIONS, stop=lambda: False, progress=lambda _: None)
        found.append(bits(member))
    assert found[0] != found[1]
