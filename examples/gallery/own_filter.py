"""How do I try a filter of my own?

A filter is a basis as a function of frequency; `to_chebyshev` turns it into the form that all filters share. Twenty
lines put Hermite polynomials beside the models of the zoo, trained and evaluated in the same way.
[Extending](../extending.md) explains every line.
"""

import matplotlib.pyplot as plt
import torch

from newtonnet import NewtonNetClassifier, cross_validate
from newtonnet.datasets import csbm
from newtonnet.nn import ZOO, ModelEntry, Options, SpectralNet
from newtonnet.polynomials import Filter, equispaced, to_chebyshev


def hermite(frequency: torch.Tensor, degree: int) -> torch.Tensor:
    z = frequency - 1
    columns = [torch.ones_like(z), z]
    for k in range(1, degree):
        columns.append(z * columns[k] - k * columns[k - 1])
    return torch.stack(columns[: degree + 1], dim=1)


def build(graph, options, seeds, dtype):
    weights = torch.zeros(options.degree + 1, dtype=torch.float64)
    weights[0] = 1  # g = 1 at the start
    matrix = to_chebyshev(lambda frequency: hermite(frequency, options.degree), options.degree)
    filter = Filter("hermite", {"weights": weights}, lambda raw: raw["weights"], matrix, equispaced(options.degree))
    features = graph.features.shape[1]
    return SpectralNet(filter, features=features, classes=graph.classes, seeds=seeds, name="hermite", dtype=dtype)


ZOO["hermite"] = ModelEntry(build, Options(degree=4), "an example")

graph = csbm(0.1, nodes=300, features=300)
for name in ("hermite", "newtonnet", "gcn"):
    result = cross_validate(NewtonNetClassifier(name, tune="off", max_epochs=100, folds=2), graph, 3)
    print(f"{name}: {100 * result.mean:.1f} ± {100 * result.std:.1f} over 3 folds")
del ZOO["hermite"]

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
frequencies = torch.linspace(0, 2, 100)
axes.plot(frequencies, hermite(frequencies, 4), label=[f"degree {k}" for k in range(5)])
axes.set(xlabel="frequency", ylabel="Hermite polynomials")
axes.legend()
