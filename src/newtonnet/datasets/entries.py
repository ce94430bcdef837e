"""The catalogue's rows; a helper for each family of data sets that come from the same place."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from newtonnet.graphs import Graph

from .entry import Entry, Metric, Published
from .synthetic import csbm, digits

_PAPER = "Xu et al., Shape-aware Graph Spectral Learning, 2024"
_PYG = "documentation of torch_geometric"
_PLATONOV = "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, 2023"
_LIM = "Lim et al., New Benchmarks for Learning on Non-Homophilous Graphs, 2021"
_GEOM = "github.com/graphdml-uiuc-jlu/geom-gcn"
_YANDEX = "github.com/yandex-research/heterophilous-graphs"
_LINKX = "github.com/CUAI/Non-Homophily-Large-Scale"
_LEAK = "holds duplicated nodes that leak from training to test (Platonov et al., 2023): report {}-filtered beside it"
_NO_LICENCE = "none stated"
_FACEBOOK = "none stated; Traud et al. ask for citation of arXiv:1102.2166"


def _geom_gcn(folder: str, name: str, *first: str) -> tuple[str, ...]:
    """Paths of raw files in one folder and of Geom-GCN's ten splits there."""
    return tuple(f"{folder}/{file}" for file in (*first, *(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))))


def _planetoid(name: str, title: str, published: Published, differences: str, warnings: tuple[str, ...] = ()) -> Entry:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return Entry(
        name=name,
        about="papers, their citations and their subjects; words as features",
        source=f"github.com/kimiyoung/planetoid, splits of {_GEOM}",
        licence="MIT",
        published=published,
        differences=differences,
        warnings=warnings,
        kind="Planetoid",
        options={"name": title, "split": "geom-gcn"},
        root="Planetoid",
        files=_geom_gcn(f"Planetoid/{title}/geom-gcn/raw", name, *(f"ind.{name}.{part}" for part in parts)),
        fixed="geom-gcn",
    )


def _wikipedia(name: str, published: Published, differences: str) -> Entry:
    folder = f"WikipediaNetwork/{name}/geom_gcn/raw"
    return Entry(
        name=name,
        about="Wikipedia pages, their links and five classes of traffic; nouns as features",
        source=_GEOM,
        licence=_NO_LICENCE,
        published=published,
        differences=differences,
        warnings=(_LEAK.format(name),),
        kind="WikipediaNetwork",
        options={"name": name, "geom_gcn_preprocess": True},
        root="WikipediaNetwork",
        files=_geom_gcn(folder, name, "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
        row_normalised=True,
    )


def _webkb(name: str, published: Published, differences: str, warnings: tuple[str, ...] = ()) -> Entry:
    return Entry(
        name=name,
        about="web pages of one university, their links and five kinds of page; words as features",
        source=_GEOM,
        licence=_NO_LICENCE,
        published=published,
        differences=differences,
        warnings=warnings,
        kind="WebKB",
        options={"name": name},
        root="WebKB",
        files=_geom_gcn(f"WebKB/{name}/raw", name, "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
    )


def _facebook(name: str, published: Published, warnings: tuple[str, ...] = ()) -> Entry:
    folder = f"LINKXDataset/{name}/raw"
    return Entry(
        name=name,
        about="students of one university in 2005, their friendships and their gender; one-hot features",
        source=f"{_LINKX} (Facebook100)",
        licence=_FACEBOOK,
        published=published,
        differences="the paper's h counts edges with an unlabelled end as unequal" if name == "penn94" else "",
        warnings=("some nodes have no label: they are in no split, and homophily leaves their edges out", *warnings),
        kind="LINKXDataset",
        options={"name": name},
        root="LINKXDataset",
        files=(f"{folder}/data.mat",),
        splits=f"{folder}/fb100-Penn94-splits.npy" if name == "penn94" else "",
        fixed="linkx" if name == "penn94" else "",
    )


def _heterophilous(name: str, about: str, published: Published, metric: Metric = "accuracy") -> Entry:
    file = name.replace("-", "_")
    return Entry(
        name=name,
        about=about,
        source=_YANDEX,
        licence="MIT",
        metric=metric,
        published=published,
        kind="HeterophilousGraphDataset",
        options={"name": name},
        root="HeterophilousGraphDataset",
        files=(f"HeterophilousGraphDataset/{file}/raw/{file}.npz",),
        fixed="heterophilous",
    )


def _cleaned(name: str, file: str, about: str, published: Published | None, warnings: tuple[str, ...]) -> Entry:
    return Entry(
        name=name,
        about=about,
        source=_YANDEX,
        licence="MIT",
        published=published,
        warnings=warnings,
        kind="CleanedGraph",
        options={"name": file},
        root="Platonov2023",
        files=(f"Platonov2023/{file}.npz",),
        fixed="filtered",
    )


def _amazon(name: str, title: str, published: Published) -> Entry:
    return Entry(
        name=name,
        about="goods, which are bought together, and their category; words of reviews as features",
        source="github.com/shchur/gnn-benchmark",
        licence="MIT",
        published=published,
        differences="the documentation counts both directions of an edge",
        kind="Amazon",
        options={"name": title},
        root="Amazon",
        files=(f"Amazon/{title}/raw/amazon_electronics_{title.lower()}.npz",),
    )


def _embedded(name: str, about: str, source: str, licence: str, generate: Callable[[], Graph]) -> Entry:
    return Entry(name=name, about=about, source=source, licence=licence, generate=generate)


_ROWS = (
    _planetoid(
        "cora",
        "Cora",
        Published(2708, 5429, 1433, 7, 0.81, _PAPER),
        "5429 is half the length of the raw adjacency lists, with repeated neighbours",
    ),
    _planetoid(
        "citeseer",
        "CiteSeer",
        Published(3327, 4732, 3703, 6, 0.74, _PAPER),
        "4732 is half the length of the raw adjacency lists, with repeated neighbours and self-loops",
        ("48 nodes have no edge and 15 have no feature",),
    ),
    _planetoid(
        "pubmed",
        "PubMed",
        Published(19717, 44338, 500, 3, 0.80, _PAPER),
        "44338 is half the length of the raw adjacency lists, with repeated neighbours and self-loops",
    ),
    _wikipedia(
        "chameleon",
        Published(2277, 36101, 2325, 5, 0.24, _PAPER),
        "36101 are directed rows, 50 of them self-loops of equal class; 0.24 is the ratio over all rows (0.235)",
    ),
    _wikipedia(
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
    _webkb(
        "texas",
        Published(183, 309, 1703, 5, 0.11, _PAPER),
        "309 are directed links (325 rows less 16 self-loops, which join equal classes); "
        "0.11 is the ratio over all 325 rows (0.108)",
        ("one class has a single node",),
    ),
    _webkb(
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
    _facebook("penn94", Published(41554, 1362229, 4814, 2, 0.47, _PAPER)),
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
        source=_LINKX,
        licence=_NO_LICENCE,
        metric="roc_auc",
        published=Published(421961, 984979, 12, 2, 0.62, _PAPER),
        warnings=("the paper calls its score accuracy; its code computes ROC-AUC",),
        kind="LINKXDataset",
        options={"name": "genius"},
        root="LINKXDataset",
        files=("LINKXDataset/genius/raw/data.mat",),
    ),
    _cleaned(
        "cornell-corrected",
        "cornell",
        "web pages of Cornell with their own features and labels",
        None,
        ("nodes are in another order than in cornell: only its own ten splits apply",),
    ),
    _webkb("wisconsin", Published(251, 515, 1703, 5, None, _PYG), "515 are directed rows, 16 of them self-loops"),
    Entry(
        name="actor",
        about="actors, who shares a Wikipedia page, and five classes of words; keywords as features",
        source=_GEOM,
        licence=_NO_LICENCE,
        published=Published(7600, 30019, 932, 5, None, _PYG),
        differences="30019 are directed rows, 93 of them self-loops",
        kind="Actor",
        root="Actor",
        files=_geom_gcn("Actor/raw", "film", "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
    ),
    *(
        _cleaned(
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
    _heterophilous(
        "roman-empire",
        "words of one article, their order and grammar, and their syntactic role",
        Published(22662, 32927, 300, 18, 0.05, _PLATONOV),
    ),
    _heterophilous(
        "amazon-ratings",
        "goods, which are bought together, and five classes of rating",
        Published(24492, 93050, 300, 5, 0.38, _PLATONOV),
    ),
    _heterophilous(
        "minesweeper",
        "cells of a grid and whether they hold a mine; a generated graph",
        Published(10000, 39402, 7, 2, 0.68, _PLATONOV),
        "roc_auc",
    ),
    _heterophilous(
        "tolokers",
        "crowd workers, who shared a task, and who was banned",
        Published(11758, 519000, 10, 2, 0.59, _PLATONOV),
        "roc_auc",
    ),
    _heterophilous(
        "questions",
        "users of a question-answering site, who answered whom, and who stayed",
        Published(48921, 153540, 301, 2, 0.84, _PLATONOV),
        "roc_auc",
    ),
    _amazon("amazon-computers", "Computers", Published(13752, 491722, 767, 10, None, _PYG)),
    _amazon("amazon-photo", "Photo", Published(7650, 238162, 745, 8, None, _PYG)),
    _facebook("reed98", Published(962, 18812, 745, 2, None, _LIM)),
    _facebook("amherst41", Published(2235, 90954, 1193, 2, None, _LIM)),
    _facebook("cornell5", Published(18660, 790777, 4735, 2, None, _LIM)),
    _facebook("johnshopkins55", Published(5180, 186586, 2406, 2, None, _LIM)),
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
    _embedded(
        "csbm-homophilous",
        "contextual stochastic block model, two equal classes, 95% of edges inside them",
        "generated",
        "as this package",
        partial(csbm, 0.95),
    ),
    _embedded(
        "csbm-heterophilous",
        "contextual stochastic block model, two equal classes, 5% of edges inside them",
        "generated",
        "as this package",
        partial(csbm, 0.05),
    ),
    _embedded(
        "digits",
        "images of hand-written digits, each joined to its five nearest",
        "scikit-learn (UCI, Optical Recognition of Handwritten Digits)",
        "CC BY 4.0",
        digits,
    ),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ROWS})
"""Every data set by its name."""
