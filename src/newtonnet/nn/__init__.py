"""Models as populations: layers, spectral and spatial networks, and the zoo that names them."""

from .glognn import GloGNN, GloGNNOptions
from .layers import FeatureMatrix, Inputs, feature_matrix
from .linkx import Linkx, LinkxOptions
from .mixhop import MixHop, MixHopOptions
from .noise import Noise
from .polynomial_models import Options
from .population import Population
from .spatial import GCN, ChebNet, ChebNetOptions, GCNOptions
from .spectral import SpectralNet, check_condition
from .tuned_gcn import TunedGCN, TunedGCNOptions
from .zoo import ZOO, Entry, build, find_model

__all__ = [
    "GCN",
    "ZOO",
    "ChebNet",
    "ChebNetOptions",
    "Entry",
    "FeatureMatrix",
    "GCNOptions",
    "GloGNN",
    "GloGNNOptions",
    "Inputs",
    "Linkx",
    "LinkxOptions",
    "MixHop",
    "MixHopOptions",
    "Noise",
    "Options",
    "Population",
    "SpectralNet",
    "TunedGCN",
    "TunedGCNOptions",
    "build",
    "check_condition",
    "feature_matrix",
    "find_model",
]
