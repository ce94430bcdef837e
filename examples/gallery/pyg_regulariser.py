"""How do I use the shape regulariser in a training loop of my own?

Every epoch predicts the homophily from the model's own classes and weighs the three bands of the filter by it: below
1/C high frequencies are encouraged and low ones suppressed. Beside the loop of the previous example it adds four
lines.
"""

import matplotlib.pyplot as plt
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.pyg import NewtonConv
from newtonnet.training import band_masks, predicted_homophily, shape_penalty

torch.manual_seed(0)
graph = csbm(0.05, nodes=400, features=400)  # neighbours avoid their own class
split = make_splits(graph, count=1)[0]
edges = graph.adjacency.tocoo()
edge_index = torch.tensor([edges.row.tolist(), edges.col.tolist()])
x, y = torch.tensor(graph.features), torch.tensor(graph.labels)
encode = torch.nn.Sequential(
    torch.nn.Linear(400, 32), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(32, graph.classes)
)
conv = NewtonConv(degree=5)
bands = band_masks(conv.filter.points)
pivot, gammas = torch.tensor(1 / graph.classes), torch.ones(3, 1)
optimiser = torch.optim.Adam([*encode.parameters(), *conv.parameters()], lr=0.01, weight_decay=5e-4)
homophily = pivot.repeat(1)  # no penalty until the first estimate
for _ in range(100):
    encode.train()
    amplitudes = conv.filter.amplitudes({"values": conv.values[:, None]})  # (K + 1, 1): one member
    penalty = shape_penalty(amplitudes, bands, homophily=homophily, pivot=pivot, gammas=gammas)
    loss = torch.nn.functional.cross_entropy(conv(encode(x), edge_index)[split.train], y[split.train]) + penalty.sum()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    with torch.no_grad():
        predicted = conv(encode.eval()(x), edge_index).argmax(dim=1)
        known = predicted.index_copy(0, torch.tensor(split.train), y[split.train])  # training nodes keep their labels
        homophily = predicted_homophily(edge_index, known[:, None]).float()
accuracy = (predicted == y)[split.test].float().mean().item()
print(f"test accuracy {accuracy:.2f}, learned homophily {homophily.item():.2f}")
print(f"g at 0, 0.4, ..., 2: {[round(v, 2) for v in conv.values.relu().tolist()]}")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(conv.filter.points, conv.values.relu().detach(), marker="o")
axes.set(xlabel="frequency", ylabel="learned values", ylim=(0, None))
