"""Families of data sets that come from the same place: each makes a row of the catalogue from what differs."""

from collections.abc import Callable

from newtonnet.graphs import Graph

from .entry import Entry, Metric, Published

GEOM = "github.com/graphdml-uiuc-jlu/geom-gcn"
_YANDEX = "github.com/yandex-research/heterophilous-graphs"
LINKX = "github.com/CUAI/Non-Homophily-Large-Scale"
_LEAK = "holds duplicated nodes that leak from training to test (Platonov et al., 2023): report {}-filtered beside it"
_FACEBOOK = "none stated; Traud et al. ask for citation of arXiv:1102.2166"
NO_LICENCE = "none stated"


def geom_gcn_files(folder: str, name: str, *first: str) -> tuple[str, ...]:
    """Paths of raw files in one folder and of Geom-GCN's ten splits there."""
    return tuple(f"{folder}/{file}" for file in (*first, *(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))))


def planetoid(name: str, title: str, published: Published, differences: str, warnings: tuple[str, ...] = ()) -> Entry:
    """Papers that cite each other, as Planetoid stores them."""
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return Entry(
        name=name,
        about="papers, their citations and their subjects; words as features",
        source=f"github.com/kimiyoung/planetoid, splits of {GEOM}",
        licence="MIT",
        published=published,
        differences=differences,
        warnings=warnings,
        kind="Planetoid",
        options={"name": title, "split": "geom-gcn"},
        root="Planetoid",
        files=geom_gcn_files(f"Planetoid/{title}/geom-gcn/raw", name, *(f"ind.{name}.{part}" for part in parts)),
        fixed="geom-gcn",
    )


def wikipedia(name: str, published: Published, differences: str) -> Entry:
    """Wikipedia's pages, as Geom-GCN prepared them."""
    folder = f"WikipediaNetwork/{name}/geom_gcn/raw"
    return Entry(
        name=name,
        about="Wikipedia pages, their links and five classes of traffic; nouns as features",
        source=GEOM,
        licence=NO_LICENCE,
        published=published,
        differences=differences,
        warnings=(_LEAK.format(name),),
        kind="WikipediaNetwork",
        options={"name": name, "geom_gcn_preprocess": True},
        root="WikipediaNetwork",
        files=geom_gcn_files(folder, name, "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
        row_normalised=True,
    )


def webkb(name: str, published: Published, differences: str, warnings: tuple[str, ...] = ()) -> Entry:
    """A university's web pages, as Geom-GCN prepared them."""
    return Entry(
        name=name,
        about="web pages of one university, their links and five kinds of page; words as features",
        source=GEOM,
        licence=NO_LICENCE,
        published=published,
        differences=differences,
        warnings=warnings,
        kind="WebKB",
        options={"name": name},
        root="WebKB",
        files=geom_gcn_files(f"WebKB/{name}/raw", name, "out1_node_feature_label.txt", "out1_graph_edges.txt"),
        fixed="geom-gcn",
    )


def facebook(name: str, published: Published, warnings: tuple[str, ...] = ()) -> Entry:
    """One university of Facebook100, as LINKX reads it."""
    folder = f"LINKXDataset/{name}/raw"
    return Entry(
        name=name,
        about="students of one university in 2005, their friendships and their gender; one-hot features",
        source=f"{LINKX} (Facebook100)",
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


def heterophilous(name: str, about: str, published: Published, metric: Metric = "accuracy") -> Entry:
    """One of the five graphs that PyTorch Geometric has from Platonov et al."""
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


def cleaned(name: str, file: str, about: str, published: Published | None, warnings: tuple[str, ...]) -> Entry:
    """A filtered or corrected graph that Platonov et al. published beside those five."""
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


def amazon(name: str, title: str, published: Published) -> Entry:
    """Goods that are bought together."""
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


def embedded(name: str, about: str, source: str, licence: str, generate: Callable[[], Graph]) -> Entry:
    """A graph that is made here and needs no files."""
    return Entry(name=name, about=about, source=source, licence=licence, generate=generate)
