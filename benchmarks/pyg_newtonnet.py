"""NewtonNet as one writes it with PyTorch Geometric: the yardstick of ``newtonnet-paper bench``.

Dense features, ``nn.Linear``, ``F.dropout``, a ``MessagePassing`` layer that is applied K times in Newton's product
form, ``torch.optim.Adam`` with two groups, and after every training step an evaluation of the three accuracies.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm


class NewtonPropagation(MessagePassing):
    """g(L) x for the polynomial through ``(points, relu(values))``, with divided differences and Newton's products."""

    def __init__(self, degree: int) -> None:
        super().__init__(aggr="add")
        self.register_buffer("points", torch.linspace(0, 2, degree + 1))
        self.values = nn.Parameter(torch.ones(degree + 1))

    def forward(self, x: Tensor, edge_index: Tensor, norm: Tensor) -> Tensor:
        """Filtered signals; ``norm`` holds the entries of the normalised adjacency."""
        coefficients = self.divided_differences()
        out = coefficients[0] * x
        for k in range(1, len(coefficients)):
            # (L - q I) x = (1 - q) x - A x
            x = (1 - self.points[k - 1]) * x - self.propagate(edge_index, x=x, norm=norm)
            out = out + coefficients[k] * x
        return out

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        """What a neighbour sends."""
        return norm.view(-1, 1) * x_j

    def divided_differences(self) -> Tensor:
        """Coefficients of Newton's form."""
        table = torch.relu(self.values)
        coefficients = [table[0]]
        for k in range(1, len(self.points)):
            table = (table[1:] - table[:-1]) / (self.points[k:] - self.points[:-k])
            coefficients.append(table[0])
        return torch.stack(coefficients)


class NewtonNet(nn.Module):
    """Two linear layers and the filter."""

    def __init__(
        self, features: int, classes: int, *, hidden: int, degree: int, dropout: float, propagation_dropout: float
    ) -> None:
        super().__init__()
        self.lin1 = nn.Linear(features, hidden)
        self.lin2 = nn.Linear(hidden, classes)
        self.propagation = NewtonPropagation(degree)
        self.dropout = dropout
        self.propagation_dropout = propagation_dropout

    def forward(self, x: Tensor, edge_index: Tensor, norm: Tensor) -> Tensor:
        """Logits of all nodes."""
        x = F.dropout(x, p=self.dropout, training=self.training)
        x = F.relu(self.lin1(x))
        x = F.dropout(x, p=self.dropout, training=self.training)
        x = self.lin2(x)
        x = F.dropout(x, p=self.propagation_dropout, training=self.training)
        return self.propagation(x, edge_index, norm)


class Trainer:
    """A model, its optimiser and its data; :meth:`epoch` is one training step and one evaluation.

    Args:
        x: dense features, ``(n, F)``.
        edge_index: both directions of every edge, ``(2, 2E)``.
        y: classes, ``(n,)``.
        masks: training, validation and test nodes, each ``(n,)``, bool.
        classes: number of classes.
        hidden: width of the encoder.
        degree: degree K of the filter.
        dropout: on features and hidden units.
        propagation_dropout: before the filter.
        learning_rate: of the encoder.
        filter_learning_rate: of the filter's values.
        weight_decay: of both.
        gammas: strengths of the shape-aware penalty.
    """

    def __init__(
        self,
        x: Tensor,
        edge_index: Tensor,
        y: Tensor,
        masks: tuple[Tensor, Tensor, Tensor],
        *,
        classes: int,
        hidden: int,
        degree: int,
        dropout: float,
        propagation_dropout: float,
        learning_rate: float,
        filter_learning_rate: float,
        weight_decay: float,
        gammas: tuple[float, float, float],
    ) -> None:
        self.x, self.edge_index, self.y, self.masks, self.classes = x, edge_index, y, masks, classes
        _, self.norm = gcn_norm(edge_index, num_nodes=len(x), add_self_loops=False)
        self.model = NewtonNet(
            x.shape[1],
            classes,
            hidden=hidden,
            degree=degree,
            dropout=dropout,
            propagation_dropout=propagation_dropout,
        )
        self.optimizer = torch.optim.Adam(
            [
                {"params": [*self.model.lin1.parameters(), *self.model.lin2.parameters()], "lr": learning_rate},
                {"params": self.model.propagation.parameters(), "lr": filter_learning_rate},
            ],
            weight_decay=weight_decay,
        )
        self.gammas = gammas
        self.homophily = 1 / classes
        self.epochs = 0

    def epoch(self) -> tuple[float, float, float]:
        """Train once and return the accuracies of all three masks."""
        self.epochs += 1
        self.model.train()
        self.optimizer.zero_grad()
        logits = self.model(self.x, self.edge_index, self.norm)
        train = self.masks[0]
        loss = F.cross_entropy(logits[train], self.y[train]) + self.penalty()
        loss.backward()
        self.optimizer.step()
        return self.evaluate()

    def penalty(self) -> Tensor:
        """The shape-aware penalty on thirds of the filter's values."""
        values = self.model.propagation.values
        low, middle, high = values.tensor_split(3)
        excess = self.homophily - 1 / self.classes
        return (
            -self.gammas[0] * excess * low.norm()
            + self.gammas[1] * abs(excess) * middle.norm()
            + self.gammas[2] * excess * high.norm()
        )

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float, float]:
        """Accuracies of all three masks; every ten epochs also the homophily of the predictions."""
        self.model.eval()
        predicted = self.model(self.x, self.edge_index, self.norm).argmax(dim=1)
        right = predicted == self.y
        train, validation, test = (right[mask].float().mean().item() for mask in self.masks)
        if self.epochs % 10 == 0:
            known = torch.where(self.masks[0], self.y, predicted)
            self.homophily = (known[self.edge_index[0]] == known[self.edge_index[1]]).float().mean().item()
        return train, validation, test
