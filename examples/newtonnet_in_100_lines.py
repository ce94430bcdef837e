"""The paper in one file: NewtonNet in plain torch and scipy, from divided differences to Algorithm 1.

Equation numbers are those of Xu, Dai, Luo, Zhang, Wang, Shape-aware Graph Spectral Learning, 2024. Nothing of the
package is used; the package gives the same numbers, faster.
"""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout


def divided_differences(points: Tensor, values: Tensor) -> Tensor:
    """Eq. (4): the coefficients a_k = g[q_0, ..., q_k], from a table that loses one row in each round."""
    table, coefficients = values, [values[0]]
    for order in range(1, len(points)):
        table = (table[1:] - table[:-1]) / (points[order:] - points[:-order])
        coefficients.append(table[0])
    return torch.stack(coefficients)


def laplacian(adjacency: sp.csr_array) -> Tensor:
    """The normalised Laplacian L = I - D^-1/2 A D^-1/2; its eigenvalues are the graph's frequencies, from 0 to 2."""
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    scale = sp.diags_array(np.where(degrees > 0, degrees, np.inf) ** -0.5)
    matrix = sp.coo_array(sp.eye_array(len(degrees)) - scale @ adjacency @ scale)
    places, entries = torch.tensor(np.array(matrix.coords)), torch.tensor(matrix.data)
    return torch.sparse_coo_tensor(places, entries, matrix.shape, check_invariants=True)


class NewtonNet(nn.Module):
    """Eq. (6): Z = g(L) f(X), where f is a two-layer MLP and g passes through the points (q_k, t_k)."""

    def __init__(self, features: int, classes: int, degree: int = 5, hidden: int = 64, rate: float = 0.5) -> None:
        super().__init__()
        self.first, self.second, self.rate = nn.Linear(features, hidden), nn.Linear(hidden, classes), rate
        self.points = torch.linspace(0, 2, degree + 1)  # q_i = 2i / K
        self.values = nn.Parameter(torch.ones(degree + 1))  # t_i; the paper draws them, its code starts at 1

    def amplitudes(self) -> Tensor:
        """The values g(q_k), which the authors' code keeps at 0 or above."""
        return self.values.relu()

    def forward(self, x: Tensor, lap: Tensor) -> Tensor:
        hidden = self.first(dropout(x, self.rate, self.training)).relu()
        term = dropout(self.second(dropout(hidden, self.rate, self.training)), self.rate, self.training)
        coefficients = divided_differences(self.points, self.amplitudes())
        total = coefficients[0] * term
        for coefficient, point in zip(coefficients[1:], self.points, strict=False):
            term = lap @ term - point * term  # Eq. (5): one factor (L - q_i I) more in each term
            total = total + coefficient * term
        return total


def shape_penalty(points: Tensor, t: Tensor, homophily: float, classes: int, gammas: tuple[float, ...]) -> Tensor:
    """Eq. (7) and (8): which frequencies the homophily encourages (negative weight) and discourages."""
    low, high = points < 2 / 3, points >= 4 / 3  # at K = 5 the paper's slices i = 2, j = 4
    energy = [t[low].square().sum(), t[~low & ~high].square().sum(), t[high].square().sum()]
    excess = homophily - 1 / classes  # Lemma 3.1: by chance, an edge joins equal classes with probability 1/C
    return sum(g * w * e for g, w, e in zip(gammas, (-excess, abs(excess), excess), energy, strict=True))


def train(x, adjacency, y, parts, *, gammas=(1.0, 1.0, 1.0), epochs=200, rate=0.01, seed=0):
    """Algorithm 1, and the test accuracy at the epoch with the best validation accuracy."""
    torch.manual_seed(seed)
    classes, (known, validation, test) = int(y.max()) + 1, parts
    model, lap = NewtonNet(x.shape[1], classes).to(x.dtype), laplacian(adjacency).to(x.dtype)
    source, target = map(torch.from_numpy, sp.coo_array(sp.triu(adjacency)).coords)
    optimizer, homophily, best = torch.optim.Adam(model.parameters(), lr=rate), 1 / classes, (-1.0, 0.0, 0.0)
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        penalty = shape_penalty(model.points, model.amplitudes(), homophily, classes, gammas)
        (cross_entropy(model(x, lap)[known], y[known]) + penalty).backward()  # Eq. (9)
        optimizer.step()
        model.eval()
        with torch.no_grad():
            predicted = model(x, lap).argmax(dim=1)
        guessed = predicted.clone()
        guessed[known] = y[known]  # what is known need not be guessed
        homophily = float((guessed[source] == guessed[target]).double().mean())
        reached = [float((predicted[part] == y[part]).double().mean()) for part in (validation, test)]
        best = max(best, (*reached, homophily), key=lambda row: row[0])
    return model, best[1], best[2]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.permutation(np.arange(600) % 2))  # two classes
    chance = np.where(y[:, None] == y[None], 0.002, 0.018)  # 10% of the edges join equal classes
    upper = np.triu(rng.random((600, 600)) < chance, 1)
    x = torch.tensor(rng.normal(size=(600, 8)) + 0.4 * (2 * y.numpy()[:, None] - 1), dtype=torch.float32)
    parts = torch.from_numpy(rng.permutation(600)).split([120, 120, 360])
    model, accuracy, homophily = train(x, sp.csr_array(upper + upper.T, dtype=float), y, parts)
    print(f"test accuracy {accuracy:.3f}, learned homophily {homophily:.2f}")
    print("learned values t:", " ".join(f"{value:.2f}" for value in model.amplitudes().tolist()))
