"""Graphs: the data structure, its builders, normalised operators, the propagation kernel, spectrum and homophily."""

from .builders import from_edges, from_scipy
from .checks import Features
from .density import Density, energy_density, spectral_density
from .edge_blocks import components, edge_blocks, isolated_nodes, known_edges
from .foreign import as_graph, from_networkx, from_pyg
from .graph import Graph, check_trainable, compact, trusted_graph
from .homophily import Homophily, homophily
from .labels import code_labels, named_classes
from .mapped_arrays import read_rows
from .operators import Operator, csr_tensor, normalise, normalised_operator, sparse_tensor
from .propagate import chebyshev_moments, propagate
from .spectrum import BANDS, band_projectors, spectrum

__all__ = [
    "BANDS",
    "Density",
    "Features",
    "Graph",
    "Homophily",
    "Operator",
    "as_graph",
    "band_projectors",
    "chebyshev_moments",
    "check_trainable",
    "code_labels",
    "compact",
    "components",
    "csr_tensor",
    "edge_blocks",
    "energy_density",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "homophily",
    "isolated_nodes",
    "known_edges",
    "named_classes",
    "normalise",
    "normalised_operator",
    "propagate",
    "read_rows",
    "sparse_tensor",
    "spectral_density",
    "spectrum",
    "trusted_graph",
]
