"""How do I use the filter in a PyTorch Geometric model?

`NewtonConv` is an ordinary module: `conv(x, edge_index)`. It has no weights but the values of the filter at K + 1
frequencies, so put linear layers around it. On this graph neighbours avoid their own class, and the layer learns to
amplify high frequencies.
"""

import matplotlib.pyplot as plt
import torch
from torch_geometric.data import Data

from newtonnet.datasets import csbm, make_splits
from newtonnet.pyg import NewtonConv


class Net(torch.nn.Module):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.encode = torch.nn.Sequential(
            torch.nn.Linear(features, 32), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(32, classes)
        )
        self.filter = NewtonConv(degree=5)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.filter(self.encode(x), edge_index)


torch.manual_seed(0)
graph = csbm(0.05, nodes=400, features=400)
split = make_splits(graph, count=1)[0]
adjacency = graph.adjacency.tocoo()
data = Data(
    x=torch.tensor(graph.features),
    edge_index=torch.tensor([adjacency.row.tolist(), adjacency.col.tolist()]),
    y=torch.tensor(graph.labels),
)
model = Net(data.num_features, 2)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for _ in range(100):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(data.x, data.edge_index)[split.train], data.y[split.train]).backward()
    optimiser.step()
accuracy = (model.eval()(data.x, data.edge_index).argmax(dim=1) == data.y)[split.test].float().mean().item()
print(f"test accuracy {accuracy:.2f}; g at 0, 0.4, ..., 2: {[round(v, 2) for v in model.filter.values.tolist()]}")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(torch.linspace(0, 2, 6), model.filter.values.detach(), marker="o")
axes.set(xlabel="frequency", ylabel="learned values", ylim=(0, None))
