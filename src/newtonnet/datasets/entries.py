"""The catalogue of published and generated graphs: one entry for each data set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from newtonnet.graphs import Graph

from .generated import csbm, digits

Metric = Literal["accuracy", "roc_auc"]


@dataclass(frozen=True)
class Published:
    """Published statistics; ``homophily`` is None where it was not published."""

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None
    citation: str


@dataclass(frozen=True)
class DatasetEntry:
    """One data set.

    Attributes:
        name: name for ``load``.
        about: one line on what nodes, edges and classes are.
        source: where the files come from, or how the graph is generated.
        licence: as the source states it.
        metric: how models are scored on it.
        published: statistics to compare with.
        differences: why the measured statistics differ from the published ones.
        warnings: what a reader of any result must know.
        generate: makes the graph, for generated ones that need no file.
        kind: the dataset class, a key of ``sources.CLASSES``.
        options: arguments of that class other than its root.
        root: the root of that class below the data root.
        files: required raw files, below the data root.
        splits: optional raw file of fixed splits, below the data root.
        fixed: protocol of the published splits, if the files hold any.
        row_normalised: divide each node's features by their sum, as the paper's code does for this graph.
    """

    name: str
    about: str
    source: str
    licence: str
    metric: Metric = "accuracy"
    published: Published | None = None
    differences: str = ""
    warnings: tuple[str, ...] = ()
    generate: Callable[[], Graph] | None = None
    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    root: str = ""
    files: tuple[str, ...] = ()
    splits: str = ""
    fixed: str = ""
    row_normalised: bool = False


_GEOM = "github.com/graphdml-uiuc-jlu/geom-gcn"
_YANDEX = "github.com/yandex-research/heterophilous-graphs"
_LINKX = "github.com/CUAI/Non-Homophily-Large-Scale"
_FACEBOOK = "none stated; Traud et al. ask for citation of arXiv:1102.2166"
_NO_LICENCE = "none stated"
_LEAK = "holds duplicated nodes that leak from training to test (Platonov et al., 2023): report {}-filtered beside it"
_NOT_ACCURACY = "the paper calls its score accuracy; its code computes ROC-AUC"
_UNLABELLED = "some nodes have no label: they are in no split, and homophily leaves their edges out"

_PAPER = "Xu et al., Shape-aware Graph Spectral Learning, 2024"
_PYG = "documentation of torch_geometric"
_PLATONOV = "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily, 2023"
_LIM = "Lim et al., New Benchmarks for Learning on Non-Homophilous Graphs, 2021"


def _split_files(folder: str, name: str, *first: str) -> tuple[str, ...]:
    """Paths of raw files in one folder and of Geom-GCN's ten splits there."""
    return tuple(f"{folder}/{file}" for file in (*first, *(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))))


def _planetoid(name: str, title: str, published: Published, differences: str, *warnings: str) -> DatasetEntry:
    """Papers that cite each other, as Planetoid stores them."""
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return DatasetEntry(
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
        files=_split_files(f"Planetoid/{title}/geom-gcn/raw", name, *(f"ind.{name}.{part}" for part in parts)),
        fixed="geom-gcn",
    )


def _geom_gcn(
    name: str, kind: str, about: str, published: Published, differences: str, *, folder: str, stem: str, **more: Any
) -> DatasetEntry:
    """A graph that Geom-GCN prepared, with its ten splits."""
    return DatasetEntry(
        name=name,
        about=about,
        source=_GEOM,
        licence=_NO_LICENCE,
        published=published,
        differences=differences,
        kind=kind,
        root=kind,
        files=_split_files(f"{kind}/{folder}", stem, "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
        **more,
    )


def _wikipedia(name: str, published: Published, differences: str) -> DatasetEntry:
    return _geom_gcn(
        name,
        "WikipediaNetwork",
        "Wikipedia pages, their links and five classes of traffic; nouns as features",
        published,
        differences,
        folder=f"{name}/geom_gcn/raw",
        stem=name,
        warnings=(_LEAK.format(name),),
        options={"name": name, "geom_gcn_preprocess": True},
        row_normalised=True,
    )


def _webkb(name: str, published: Published, differences: str, *warnings: str) -> DatasetEntry:
    about = "web pages of one university, their links and five kinds of page; words as features"
    more: dict[str, Any] = {"warnings": warnings, "options": {"name": name}}
    return _geom_gcn(name, "WebKB", about, published, differences, folder=f"{name}/raw", stem=name, **more)


def _linkx(name: str, about: str, source: str, licence: str, published: Published, **more: Any) -> DatasetEntry:
    """A graph in the format of LINKX."""
    return DatasetEntry(
        name=name,
        about=about,
        source=source,
        licence=licence,
        published=published,
        kind="LINKXDataset",
        options={"name": name},
        root="LINKXDataset",
        files=(f"LINKXDataset/{name}/raw/data.mat",),
        **more,
    )


def _facebook(name: str, published: Published, **more: Any) -> DatasetEntry:
    about = "students of one university in 2005, their friendships and their gender; one-hot features"
    source = f"{_LINKX} (Facebook100)"
    return _linkx(name, about, source, _FACEBOOK, published, warnings=(_UNLABELLED,), **more)


def _platonov(name: str, about: str, published: Published | None, file: str = "", **more: Any) -> DatasetEntry:
    """One of the five graphs of Platonov et al., or the filtered or corrected one in this file."""
    stem = name.replace("-", "_")
    root = "Platonov2023" if file else "HeterophilousGraphDataset"
    return DatasetEntry(
        name=name,
        about=about,
        source=_YANDEX,
        licence="MIT",
        published=published,
        kind="CleanedGraph" if file else "HeterophilousGraphDataset",
        options={"name": file or name},
        root=root,
        files=(f"{root}/{file}.npz" if file else f"{root}/{stem}/raw/{stem}.npz",),
        fixed="filtered" if file else "heterophilous",
        **more,
    )


def _amazon(title: str, published: Published) -> DatasetEntry:
    return DatasetEntry(
        name=f"amazon-{title.lower()}",
        about="products, which are bought together, and their category; words of reviews as features",
        source="github.com/shchur/gnn-benchmark",
        licence="MIT",
        published=published,
        differences="the documentation counts both directions of an edge",
        kind="Amazon",
        options={"name": title},
        root="Amazon",
        files=(f"Amazon/{title}/raw/amazon_electronics_{title.lower()}.npz",),
    )


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
        "48 nodes have no edge and 15 have no feature",
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
    DatasetEntry(
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
        "one class has a single node",
    ),
    _webkb(
        "cornell",
        Published(183, 295, 1703, 5, 0.31, _PAPER),
        "295 are directed links (298 rows less 3 self-loops, which join equal classes); "
        "0.31 is the ratio over all 298 rows (0.305)",
        "features and labels are those of Texas: the published file mixes Cornell's links with Texas's pages; "
        "results are comparable with the literature and say nothing about Cornell: see cornell-corrected",
        "one class has a single node",
    ),
    _facebook(
        "penn94",
        Published(41554, 1362229, 4814, 2, 0.47, _PAPER),
        differences="the paper's h counts edges with an unlabelled end as unequal",
        splits="LINKXDataset/penn94/raw/fb100-Penn94-splits.npy",
        fixed="linkx",
    ),
    DatasetEntry(
        name="twitch-gamer",
        about="Twitch accounts, mutual followers and whether a channel is for adults",
        source="snap.stanford.edu/data/twitch_gamers.html",
        licence="MIT",
        metric="roc_auc",
        published=Published(168114, 6797557, 7, 2, 0.55, _PAPER),
        warnings=(_NOT_ACCURACY,),
        kind="TwitchGamer",
        root="TwitchGamer",
        files=tuple(f"TwitchGamer/raw/large_twitch_{table}.csv" for table in ("features", "edges")),
        splits="TwitchGamer/raw/twitch-gamer-splits.npy",
        fixed="linkx",
    ),
    _linkx(
        "genius",
        "accounts of genius.com, who follows whom, and whether an account is marked as gone",
        _LINKX,
        _NO_LICENCE,
        Published(421961, 984979, 12, 2, 0.62, _PAPER),
        metric="roc_auc",
        warnings=(_NOT_ACCURACY,),
    ),
    _platonov(
        "cornell-corrected",
        "web pages of Cornell with their own features and labels",
        None,
        "cornell",
        warnings=(
            "nodes are in another order than in cornell, so cornell's published splits do not fit, only its own",
        ),
    ),
    _webkb("wisconsin", Published(251, 515, 1703, 5, None, _PYG), "515 are directed rows, 16 of them self-loops"),
    _geom_gcn(
        "actor",
        "Actor",
        "actors, who shares a Wikipedia page, and five classes of words; keywords as features",
        Published(7600, 30019, 932, 5, None, _PYG),
        "30019 are directed rows, 93 of them self-loops",
        folder="raw",
        stem="film",
    ),
    *(
        _platonov(
            f"{name}-filtered",
            f"{name} without its duplicated nodes",
            published,
            f"{name}_filtered",
            warnings=(f"not comparable with results on {name}: other nodes, other splits, features as stored",),
        )
        for name, published in (
            ("chameleon", Published(890, 8854, 2325, 5, None, _PLATONOV)),
            ("squirrel", Published(2223, 46998, 2089, 5, None, _PLATONOV)),
        )
    ),
    _platonov(
        "roman-empire",
        "words of one article, their order and grammar, and their syntactic role",
        Published(22662, 32927, 300, 18, 0.05, _PLATONOV),
    ),
    _platonov(
        "amazon-ratings",
        "products, which are bought together, and five classes of rating",
        Published(24492, 93050, 300, 5, 0.38, _PLATONOV),
    ),
    _platonov(
        "minesweeper",
        "cells of a grid and whether they hold a mine; a generated graph",
        Published(10000, 39402, 7, 2, 0.68, _PLATONOV),
        metric="roc_auc",
    ),
    _platonov(
        "tolokers",
        "crowd workers, who shared a task, and who was banned",
        Published(11758, 519000, 10, 2, 0.59, _PLATONOV),
        metric="roc_auc",
    ),
    _platonov(
        "questions",
        "users of a question-answering site, who answered whom, and who stayed",
        Published(48921, 153540, 301, 2, 0.84, _PLATONOV),
        metric="roc_auc",
    ),
    _amazon("Computers", Published(13752, 491722, 767, 10, None, _PYG)),
    _amazon("Photo", Published(7650, 238162, 745, 8, None, _PYG)),
    _facebook("reed98", Published(962, 18812, 745, 2, None, _LIM)),
    _facebook("amherst41", Published(2235, 90954, 1193, 2, None, _LIM)),
    _facebook("cornell5", Published(18660, 790777, 4735, 2, None, _LIM)),
    _facebook("johnshopkins55", Published(5180, 186586, 2406, 2, None, _LIM)),
    DatasetEntry(
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
    *(
        DatasetEntry(
            name=f"csbm-{kind}",
            about=f"contextual stochastic block model, two equal classes, {homophily:.0%} of edges inside them",
            source="generated",
            licence="as this package",
            generate=partial(csbm, homophily),
        )
        for kind, homophily in (("homophilous", 0.95), ("heterophilous", 0.05))
    ),
    DatasetEntry(
        name="digits",
        about="images of hand-written digits, each joined to its five nearest",
        source="scikit-learn (UCI, Optical Recognition of Handwritten Digits)",
        licence="CC BY 4.0",
        generate=digits,
    ),
)

CATALOGUE: Mapping[str, DatasetEntry] = MappingProxyType({entry.name: entry for entry in _ROWS})
"""Every data set by its name."""
