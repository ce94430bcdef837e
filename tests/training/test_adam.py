import pytest
import torch

from newtonnet.datasets import csbm
from newtonnet.nn import build
from newtonnet.training import Config
from newtonnet.training.adam import Adam


@pytest.fixture(scope="module")
def graph():
    return csbm(0.3, nodes=20, features=5)


def test_each_member_moves_as_torch_adam_moves_it(graph):
    configs = [
        Config(learning_rate=0.05, filter_learning_rate=0.01, weight_decay=0.3, filter_weight_decay=0.0),
        Config(learning_rate=0.002, filter_learning_rate=0.2, weight_decay=0.0),
    ]
    model = build("newtonnet", graph, seeds=(0, 1), dtype=torch.float64)
    twins = [model.take(torch.tensor([p])) for p in range(2)]
    ours = Adam(model, configs)
    theirs = []
    for twin, config in zip(twins, configs, strict=True):
        groups = [
            {"params": [p for n, p in twin.named_parameters() if twin.groups[n] == group],
             "lr": config.rate(group), "weight_decay": config.decay(group)}
            for group in ("encoder", "filter")
        ]  # fmt: skip
        theirs.append(torch.optim.Adam(groups))
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        gradients = {
            name: torch.randn(p.shape, dtype=torch.float64, generator=generator) for name, p in model.named_parameters()
        }
        for name, parameter in model.named_parameters():
            parameter.grad = gradients[name]
        ours.step()
        for member, (twin, optimiser) in enumerate(zip(twins, theirs, strict=True)):
            for name, parameter in twin.named_parameters():
                parameter.grad = gradients[name].index_select(model.axes[name], torch.tensor([member]))
            optimiser.step()
    for member, twin in enumerate(twins):
        for name, parameter in twin.named_parameters():
            mine = dict(model.named_parameters())[name].index_select(model.axes[name], torch.tensor([member]))
            torch.testing.assert_close(mine, parameter, rtol=1e-12, atol=1e-12)


def test_filter_decay_follows_the_encoders_unless_it_is_given():
    assert Config(weight_decay=0.3).decay("filter") == 0.3
    assert Config(weight_decay=0.3, filter_weight_decay=0.0).decay("filter") == 0.0
    assert Config(weight_decay=0.3, filter_weight_decay=0.0).decay("encoder") == 0.3
