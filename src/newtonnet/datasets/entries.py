"""The catalogue's rows."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from .entry import Entry, Published
from .families import (
    GEOM,
    LINKX,
    NO_LICENCE,
    amazon,
    cleaned,
    embedded,
    facebook,
    geom_gcn_files,
    heterophilous,
    planetoid,
    webkb,
    wikipedia,
)
from .synthetic import csbm, digits

_PAPER = "Xu et al., Shape-aware Graph Spectral Learning, 2024"
_PYG = "documentation of torch_geometric"
_PLATONOV = "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, 2023"
_LIM = "Lim et al., New Benchmarks for Learning on Non-Homophilous Graphs, 2021"

_ROWS = (
    planetoid(
        "cora",
        "Cora",
        Published(2708, 5429, 1433, 7, 0.81, _PAPER),
        "5429 is half the length of the raw adjacency lists, with repeated neighbours",
    ),
    planetoid(
        "citeseer",
        "CiteSeer",
        Published(3327, 4732, 3703, 6, 0.74, _PAPER),
        "4732 is half the length of the raw adjacency lists, with repeated neighbours and self-loops",
        ("48 nodes have no edge and 15 have no feature",),
    ),
    planetoid(
        "pubmed",
        "PubMed",
        Published(19717, 44338, 500, 3, 0.80, _PAPER),
        "44338 is half the length of the raw adjacency lists, with repeated neighbours and self-loops",
    ),
    wikipedia(
        "chameleon",
        Published(2277, 36101, 2325, 5, 0.24, _PAPER),
        "36101 are directed rows, 50 of them self-loops of equal class; 0.24 is the ratio over all rows (0.235)",
    ),
    wikipedia(
        "squirrel",
        Published(5201, 217073, 2089, 5, 0.22, _PAPER),
        "217073 are directed rows, 140 of them self-loops",
    ),
    Entry(
        name="crocodile",
        about="Wikipedia pages, their links and five classes of traffic; 128 factors of nouns as features",
        source="SNAP's MUSAE collection by way of torch_geometric",
        licence="MIT",
        published=Published(11631, 360040, 128, 5, 0.25, _PAPER),
        differences="360040 are rows in both directions, reciprocal links four times, with self-loops; "
        "0.25 is the ratio over those rows (0.247)",
        warnings=(
            "where the file is the remade one its 128 features were rebuilt: of the original's kind, not its values",
            "two nodes of a sixth class are counted to the fifth",
        ),
        kind="Crocodile",
        options={"name": "crocodile", "geom_gcn_preprocess": False},
        root="WikipediaNetwork",
        files=("WikipediaNetwork/crocodile/raw/crocodile.npz",),
    ),
    webkb(
        "texas",
        Published(183, 309, 1703, 5, 0.11, _PAPER),
        "309 are directed links (325 rows less 16 self-loops, which join equal classes); "
        "0.11 is the ratio over all 325 rows (0.108)",
        ("one class has a single node",),
    ),
    webkb(
        "cornell",
        Published(183, 295, 1703, 5, 0.31, _PAPER),
        "295 are directed links (298 rows less 3 self-loops, which join equal classes); "
        "0.31 is the ratio over all 298 rows (0.305)",
        (
            "features and labels are those of Texas: the published file mixes Cornell's links with Texas's pages; "
            "results are comparable with the literature and say nothing about Cornell: see cornell-corrected",
            "one class has a single node",
        ),
    ),
    facebook("penn94", Published(41554, 1362229, 4814, 2, 0.47, _PAPER)),
    Entry(
        name="twitch-gamer",
        about="Twitch accounts, mutual followers and whether a channel is for adults",
        source="snap.stanford.edu/data/twitch_gamers.html",
        licence="MIT",
        metric="roc_auc",
        published=Published(168114, 6797557, 7, 2, 0.55, _PAPER),
        warnings=("the paper calls its score accuracy; its code computes ROC-AUC",),
        kind="TwitchGamer",
        root="TwitchGamer",
        files=tuple(f"TwitchGamer/raw/large_twitch_{table}.csv" for table in ("features", "edges")),
        splits="TwitchGamer/raw/twitch-gamer-splits.npy",
        fixed="linkx",
    ),
    Entry(
        name="genius",
        about="accounts of genius.com, who follows whom, and whether an account is marked as gone",
        source=LINKX,
        licence=NO_LICENCE,
        metric="roc_auc",
        published=Published(421961, 984979, 12, 2, 0.62, _PAPER),
        warnings=("the paper calls its score accuracy; its code computes ROC-AUC",),
        kind="LINKXDataset",
        options={"name": "genius"},
        root="LINKXDataset",
        files=("LINKXDataset/genius/raw/data.mat",),
    ),
    cleaned(
        "cornell-corrected",
        "cornell",
        "web pages of Cornell with their own features and labels",
        None,
        ("nodes are in another order than in cornell, so cornell's published splits do not fit, only its own",),
    ),
    webkb("wisconsin", Published(251, 515, 1703, 5, None, _PYG), "515 are directed rows, 16 of them self-loops"),
    Entry(
        name="actor",
        about="actors, who shares a Wikipedia page, and five classes of words; keywords as features",
        source=GEOM,
        licence=NO_LICENCE,
        published=Published(7600, 30019, 932, 5, None, _PYG),
        differences="30019 are directed rows, 93 of them self-loops",
        kind="Actor",
        root="Actor",
        files=geom_gcn_files("Actor/raw", "film", "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
    ),
    *(
        cleaned(
            f"{name}-filtered",
            f"{name}_filtered",
            f"{name} without its duplicated nodes",
            published,
            (f"not comparable with results on {name}: other nodes, other splits, features as stored",),
        )
        for name, published in (
            ("chameleon", Published(890, 8854, 2325, 5, None, _PLATONOV)),
            ("squirrel", Published(2223, 46998, 2089, 5, None, _PLATONOV)),
        )
    ),
    heterophilous(
        "roman-empire",
        "words of one article, their order and grammar, and their syntactic role",
        Published(22662, 32927, 300, 18, 0.05, _PLATONOV),
    ),
    heterophilous(
        "amazon-ratings",
        "goods, which are bought together, and five classes of rating",
        Published(24492, 93050, 300, 5, 0.38, _PLATONOV),
    ),
    heterophilous(
        "minesweeper",
        "cells of a grid and whether they hold a mine; a generated graph",
        Published(10000, 39402, 7, 2, 0.68, _PLATONOV),
        "roc_auc",
    ),
    heterophilous(
        "tolokers",
        "crowd workers, who shared a task, and who was banned",
        Published(11758, 519000, 10, 2, 0.59, _PLATONOV),
        "roc_auc",
    ),
    heterophilous(
        "questions",
        "users of a question-answering site, who answered whom, and who stayed",
        Published(48921, 153540, 301, 2, 0.84, _PLATONOV),
        "roc_auc",
    ),
    amazon("amazon-computers", "Computers", Published(13752, 491722, 767, 10, None, _PYG)),
    amazon("amazon-photo", "Photo", Published(7650, 238162, 745, 8, None, _PYG)),
    facebook("reed98", Published(962, 18812, 745, 2, None, _LIM)),
    facebook("amherst41", Published(2235, 90954, 1193, 2, None, _LIM)),
    facebook("cornell5", Published(18660, 790777, 4735, 2, None, _LIM)),
    facebook("johnshopkins55", Published(5180, 186586, 2406, 2, None, _LIM)),
    Entry(
        name="ogbn-arxiv",
        about="arXiv papers on computer science, their citations and 40 subjects; word vectors as features",
        source="ogb.stanford.edu",
        licence="ODC-BY",
        published=Published(169343, 1166243, 128, 40, None, "documentation of the Open Graph Benchmark"),
        differences="1166243 are directed citations; mutual ones count once here",
        kind="OgbnArxiv",
        root="ogbn_arxiv",
        files=(
            *(f"ogbn_arxiv/raw/{table}.csv.gz" for table in ("node-feat", "edge", "node-label")),
            *(f"ogbn_arxiv/split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
        ),
        fixed="ogb-time",
    ),
    embedded(
        "csbm-homophilous",
        "contextual stochastic block model, two equal classes, 95% of edges inside them",
        "generated",
        "as this package",
        partial(csbm, 0.95),
    ),
    embedded(
        "csbm-heterophilous",
        "contextual stochastic block model, two equal classes, 5% of edges inside them",
        "generated",
        "as this package",
        partial(csbm, 0.05),
    ),
    embedded(
        "digits",
        "images of hand-written digits, each joined to its five nearest",
        "scikit-learn (UCI, Optical Recognition of Handwritten Digits)",
        "CC BY 4.0",
        digits,
    ),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ROWS})
"""Every data set by its name."""
