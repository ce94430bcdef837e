"""Graphs: the data structure, builders, normalised operators, propagation, spectrum and homophily."""

from .builders import as_graph, code_labels, from_edges, from_networkx, from_pyg, from_scipy, named_classes
from .graph import (
    Features,
    Graph,
    check_trainable,
    compact,
    components,
    hash_arrays,
    in_pieces,
    isolated_nodes,
    known_edges,
    read_rows,
    row_chunks,
)
from .measures import Homophily, assortativity, homophily
from .operators import Operator, csr_tensor, normalise, normalised_operator, sparse_tensor
from .plan import row_blocks
from .plotting import plot_graph
from .propagation import propagate
from .spectra import BANDS, Density, band_coefficients, energy_density, spectral_density, spectrum

__all__ = [
    "BANDS",
    "Density",
    "Features",
    "Graph",
    "Homophily",
    "Operator",
    "as_graph",
    "assortativity",
    "band_coefficients",
    "check_trainable",
    "code_labels",
    "compact",
    "components",
    "csr_tensor",
    "energy_density",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "hash_arrays",
    "homophily",
    "in_pieces",
    "isolated_nodes",
    "known_edges",
    "named_classes",
    "normalise",
    "normalised_operator",
    "plot_graph",
    "propagate",
    "read_rows",
    "row_blocks",
    "row_chunks",
    "sparse_tensor",
    "spectral_density",
    "spectrum",
]
