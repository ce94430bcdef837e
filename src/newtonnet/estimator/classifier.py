"""``NewtonNetClassifier``: scikit-learn's contract, as far as a graph allows, around a tuned average of models."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from newtonnet.graphs import Graph, as_graph, check_trainable, homophily
from newtonnet.training import override

from .candidates import Candidate, candidates, default_setting
from .clock import start_clock
from .ensemble import ensemble_of
from .feature_names import check_names, feature_names
from .filter_first import train_filter_first
from .folds import fold_count, make_folds
from .labels import read
from .learned import curves, learned_filter
from .members import Loop
from .parameters import check_parameters
from .saving import load, save
from .scoring import score
from .tuning import Tell, tune

MOST_BOUND = 50_000
"""Nodes up to which tuning tries weights for every node, which cost as much as one feature for each."""


class NewtonNetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify the nodes of a graph of unknown homophily.

    ``fit`` takes a :class:`~newtonnet.Graph`, a PyTorch Geometric ``Data``, a networkx graph, or a pair of a scipy
    adjacency matrix and features. With ``tune="auto"`` it tries a short list of settings at once, each judged on
    labelled nodes held back from it, and keeps an average of the best few; nothing has to be chosen.

    Args:
        model: any model of the zoo.
        tune: ``auto``, or ``off`` to train the model's defaults only (changed by ``settings``).
        settings: options of the model or its training by name, such as ``{"degree": 10, "gamma1": 3.0}``; they hold in
            everything that is tried.
        folds: inner splits, each holding back other labels; the model is an average over them. None suits the number
            of labels.
        max_epochs: longest training of a member.
        patience: epochs without a better validation score after which a member stops.
        metric: ``accuracy``, or ``roc_auc`` for two classes: what is tuned for and what ``score`` gives.
        time_budget: seconds that ``fit`` may take, or None for as long as it needs. Where it is too short the best so
            far is kept, and then the result depends on the machine.
        transferable: leave out settings that bind the model to the graph it was trained on (an adjacency branch), so
            that it can predict on another.
        threads: threads to train with; torch's number if not given.
        max_memory: bytes that training may take beside the graph.
        regime: ``memory``, or ``precomputed`` for graphs whose training does not fit in memory: features are filtered
            once and kept on disk, and one setting of NewtonNet, the defaults changed by ``settings``, is trained on
            them in batches of nodes. See docs/scale.md for what this order changes.
        store: folder for the filtered features of the precomputed regime, which takes up what is there already; a
            temporary one if not given.
        device: where to train; anything but the CPU is untested.
        random_state: of folds, start weights and dropout.

    Attributes:
        classes_: the classes, in the order of the columns of ``predict_proba``.
        n_features_in_: number of features.
        feature_names_in_: their names, where they came in a frame of pandas; then ``predict`` wants the same.
        ensemble_: the trained members and their weights.
        settings_: the settings that were kept, the heaviest first, each with its ``weight`` and ``model``.
        tried_: how many settings were tried.
        validation_score_: score of the average on labelled nodes, each judged by members that had not seen its label;
            a little too good, since it was chosen by it. :func:`~newtonnet.cross_validate` gives an honest one.
        complete_: whether the time budget sufficed for everything.
        homophily_: learned h: share of edges whose ends are predicted alike, known labels put in.
        filter_: the :class:`~newtonnet.estimator.LearnedFilter` of the heaviest setting that has one; where the average
            has none, of the best one that was tried; None for a model without a filter.
        filter_weight_: that setting's share of the average.
        history_: curves of its members: epoch, loss, train, validation, homophily.
        records_: their full records.
    """

    def __init__(
        self,
        model: str = "newtonnet",
        *,
        tune: str = "auto",
        settings: Mapping[str, Any] | None = None,
        folds: int | None = None,
        max_epochs: int = 1000,
        patience: int | None = 100,
        metric: str = "accuracy",
        time_budget: float | None = 60.0,
        transferable: bool = False,
        threads: int | None = None,
        max_memory: int | None = None,
        regime: str = "memory",
        store: str | PathLike[str] | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.tune = tune
        self.settings = settings
        self.folds = folds
        self.max_epochs = max_epochs
        self.patience = patience
        self.metric = metric
        self.time_budget = time_budget
        self.transferable = transferable
        self.threads = threads
        self.max_memory = max_memory
        self.regime = regime
        self.store = store
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        graph: Any,
        y: ArrayLike | None = None,
        *,
        stop: Callable[[], bool] | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Learn from the labelled nodes.

        Args:
            graph: the graph.
            y: a label for each node, -1, None or NaN for unknown; the graph's own labels if not given, of PyTorch
                Geometric's data with masks those of ``train_mask`` and ``val_mask`` only.
            stop: asked after every epoch; where it says True the best so far is kept.
            progress: told what is being done, the share of it that is done, and the best validation score.
        """
        check_parameters(self.get_params())
        clock = start_clock(self.time_budget, stop)
        whole, classes = read(graph, y, part="known")
        check_trainable(whole)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        listed = self._candidates(whole)
        count = fold_count(whole) if self.folds is None else int(self.folds)
        folds = make_folds(whole, count, seed=seed, every_class=self.metric == "roc_auc")
        threads = None if self.threads is None else int(self.threads)
        loop = Loop(seed, threads, self.max_memory, str(self.device))
        with torch.inference_mode(False), torch.enable_grad():
            if self.regime == "precomputed":
                setting = listed[0].setting
                tuned = train_filter_first(whole, setting, folds, loop, store=self.store, clock=clock, tell=progress)
            else:
                tuned = tune(whole, listed, folds, loop, clock=clock, tell=progress)

        self.classes_ = classes
        self.n_features_in_ = int(whole.features.shape[1])
        self._name_features(feature_names(graph))
        self.ensemble_ = ensemble_of(tuned, whole.class_names)
        self.records_ = [member.record for member in tuned.shown.members]
        self.filter_weight_ = tuned.shown.weight
        self.settings_ = [
            {"weight": chosen.weight, "model": chosen.candidate.model, **_plain(chosen.members[0].record)}
            for chosen in tuned.chosen
        ]
        self.tried_ = tuned.tried
        self.complete_ = tuned.complete
        self.validation_score_ = tuned.validation
        self.filter_ = learned_filter(self.records_)
        self.history_ = curves(self.records_)
        self.homophily_ = self._learned_homophily(whole)
        return self

    def predict_proba(self, graph: Any) -> NDArray[np.float64]:
        """Probability of each class for every node, shape ``(n, C)``; columns in the order of ``classes_``."""
        check_is_fitted(self)
        return self._probabilities(self._fitting(graph))

    def predict(self, graph: Any) -> NDArray[Any]:
        """The most probable class of every node, shape ``(n,)``."""
        shares = self.predict_proba(graph)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def score(self, graph: Any, y: ArrayLike | None = None) -> float:
        """Accuracy (or ROC-AUC, as ``metric`` says) over the nodes whose label is known in ``y``.

        Put -1 for the nodes that were trained on; otherwise they count too. Without ``y`` the graph's own labels count,
        of PyTorch Geometric's data with masks those of ``test_mask`` only, or of nodes that ``fit`` does not know.
        """
        check_is_fitted(self)
        whole, theirs = read(graph, y, part="judged")
        check_names(getattr(self, "feature_names_in_", None), graph)
        known = whole.labelled
        if len(known) == 0:
            raise ValueError("no node has a label to score by; give y")
        place = {str(name): code for code, name in enumerate(self.classes_.tolist())}
        strange = [name for name in theirs[np.unique(whole.labels[known])].tolist() if str(name) not in place]
        if strange:
            raise ValueError(f"label {strange[0]!r} is not one of the classes {', '.join(place)}")
        codes = np.array([place.get(str(name), -1) for name in theirs.tolist()])
        return score(self.metric, self.predict_proba(whole)[known], codes[whole.labels[known]])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; :meth:`load` reads it."""
        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; a file that was cut short, changed or is newer is refused."""
        loaded: Self = load(cls, path)
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def _candidates(self, graph: Graph) -> list[Candidate]:
        """What to try on a graph."""
        fixed = dict(self.settings or {})
        fixed |= {"max_epochs": self.max_epochs, "patience": self.patience, "metric": self.metric}
        if self.tune == "auto" and self.regime == "memory":
            return candidates(self.model, fixed, bound=not self.transferable and graph.nodes <= MOST_BOUND)
        return [Candidate(self.model, override(default_setting(self.model), fixed))]

    def _probabilities(self, graph: Graph) -> NDArray[np.float64]:
        return self.ensemble_.probabilities(
            graph, device=str(self.device), store=self.store, max_memory=self.max_memory
        )

    def _fitting(self, graph: Any) -> Graph:
        """The graph, refused where its features are not those that the model was trained on."""
        whole = as_graph(graph)
        check_names(getattr(self, "feature_names_in_", None), graph)
        if whole.features.shape[1] != self.n_features_in_:
            raise ValueError(
                f"the model was trained on {self.n_features_in_} features, this graph has {whole.features.shape[1]}"
            )
        return whole

    def _name_features(self, names: NDArray[np.object_] | None) -> None:
        """Keep the features' names, as scikit-learn does: no attribute where there are none."""
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _learned_homophily(self, graph: Graph) -> float:
        """Share of edges whose ends are predicted alike, known labels put in; NaN without edges."""
        predicted = self._probabilities(graph).argmax(axis=1)
        return homophily(graph, np.where(graph.labels >= 0, graph.labels, predicted)).edge


def _plain(record: Any) -> dict[str, Any]:
    """A run's options and training by name, without what differs from member to member."""
    both = {**record.options, **{name: value for name, value in record.config.items() if "seed" not in name}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in both.items()}
