"""``NewtonNetClassifier``: an estimator for graphs with a scikit-learn interface."""

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from newtonnet.graphs import Graph, as_graph, check_trainable, homophily
from newtonnet.search import default_setting
from newtonnet.training import override

from .inputs import IN_MEMORY, OUT_OF_CORE, check_feature_names, check_parameters, feature_names, read_labels
from .learned import curves, learned_filter
from .members import Candidate, TrainingOptions, fold_count, make_folds, train_members, train_members_out_of_core
from .portfolio import ProgressCallback, candidates, deadline_in, tune
from .saving import load, save
from .scoring import score

MOST_TRANSDUCTIVE = 50_000
"""Number of nodes up to which tuning tries transductive settings, whose weights for every node cost much memory."""


class NewtonNetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify the nodes of a graph of unknown homophily.

    ``fit`` takes a :class:`~newtonnet.Graph`, a PyTorch Geometric ``Data``, a networkx graph, or a pair of a scipy
    adjacency matrix and features. With ``tune="auto"`` it tries a portfolio of settings, evaluates each on labelled
    nodes held out from it, and keeps a weighted average of the best few.

    Args:
        model: any model of the zoo.
        tune: ``auto``, or ``off`` to train only the model's defaults (changed by ``settings``).
        settings: options of the model or its training by name, such as ``{"degree": 10, "gamma1": 3.0}``; they hold in
            every setting that is tried.
        folds: number of inner folds; the model is an average over them. None chooses it by the number of labels.
        max_epochs: maximum number of epochs.
        patience: epochs without a better validation score after which training stops.
        metric: ``accuracy``, or ``roc_auc`` for two classes; used for tuning and by ``score``.
        time_limit: seconds that ``fit`` may take, or None for no limit. When time runs out the best result so far is
            kept; it then depends on the speed of the machine.
        transferable: leave out transductive settings (an adjacency branch), so that the model can predict on other
            graphs.
        threads: number of threads; torch's number if not given.
        max_memory: bytes that training may use in addition to the graph.
        regime: ``memory``, or ``out-of-core`` for graphs whose training does not fit in memory: features are
            propagated once and kept on disk, and one setting of NewtonNet, the defaults changed by ``settings``, is
            trained on them in batches of nodes. docs/scale.md says how the results differ.
        store: folder for the propagated features of out-of-core training; features of the same graph that are there
            already are used. A temporary folder if not given.
        device: where to train; only the CPU is tested.
        random_state: random seed of folds, start weights and dropout.

    Attributes:
        classes_: the classes, in the order of the columns of ``predict_proba``.
        n_features_in_: number of features.
        feature_names_in_: names of the features, if they came in a pandas frame; ``predict`` then expects the same.
        ensemble_: the trained members and their weights.
        settings_: the settings in the average by descending weight, each with its ``weight`` and ``model``.
        tried_: number of settings tried.
        validation_score_: score of the average on labelled nodes, predicted by members that were not trained on them.
            Slightly optimistic, since settings were selected by it; :func:`~newtonnet.cross_validate` gives an
            unbiased score.
        complete_: whether there was time for everything.
        homophily_: learned h, the share of edges that join equal labels, where unknown labels are predicted.
        filter_: the :class:`~newtonnet.estimator.LearnedFilter` of the heaviest setting that has one, or of the best
            setting tried if the average has none; None for a model without a filter.
        filter_weight_: that setting's share of the average.
        history_: curves of its members: epoch, loss, train, validation, homophily.
        records_: the records of its members.
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
        time_limit: float | None = 60.0,
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
        self.time_limit = time_limit
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
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Train on the labelled nodes.

        Args:
            graph: the graph.
            y: a label for each node, -1, None or NaN for unknown; the graph's own labels if not given, of PyTorch
                Geometric data with masks only those of ``train_mask`` and ``val_mask``.
            stop: called after every epoch; if it returns True, training stops and the best result so far is kept.
            progress: called with the current step, its completed share, and the best validation score so far.

        Returns:
            The fitted classifier itself.
        """
        check_parameters(self.get_params())
        deadline = deadline_in(self.time_limit, stop)
        whole, classes = read_labels(graph, y, role="train")
        check_trainable(whole)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        listed = self._candidates(whole)
        count = fold_count(whole) if self.folds is None else int(self.folds)
        folds = make_folds(whole, count, seed=seed, every_class=self.metric == "roc_auc")
        threads = None if self.threads is None else int(self.threads)
        options = TrainingOptions(seed, threads, self.max_memory, str(self.device), self.store)
        train = partial(train_members_out_of_core if self.regime == OUT_OF_CORE else train_members, options=options)
        with torch.inference_mode(False), torch.enable_grad():
            tuned = tune(whole, listed, folds, train, deadline=deadline, progress=progress)

        self.classes_ = classes
        self.n_features_in_ = int(whole.features.shape[1])
        self.__dict__.pop("feature_names_in_", None)  # as in scikit-learn: without names there is no attribute
        if (names := feature_names(graph)) is not None:
            self.feature_names_in_ = names
        self.ensemble_ = tuned.ensemble
        self.records_ = [member.record for member in tuned.shown.members]
        self.filter_weight_ = tuned.shown.weight
        self.settings_ = [
            {"weight": entry.weight, "model": entry.candidate.model, **_plain(entry.members[0].record)}
            for entry in tuned.chosen
        ]
        self.tried_ = tuned.tried
        self.complete_ = tuned.complete
        self.validation_score_ = tuned.validation
        self.filter_ = learned_filter(self.records_)
        self.history_ = curves(self.records_)
        predicted = self._probabilities(whole).argmax(axis=1)
        self.homophily_ = homophily(whole, np.where(whole.labels >= 0, whole.labels, predicted)).edge
        return self

    def predict_proba(self, graph: Any) -> NDArray[np.float64]:
        """Probability of each class for every node, shape ``(n, C)``; columns in the order of ``classes_``."""
        check_is_fitted(self)
        whole = as_graph(graph)
        check_feature_names(getattr(self, "feature_names_in_", None), graph)
        features = whole.features.shape[1]
        if features != self.n_features_in_:
            raise ValueError(f"the model was trained on {self.n_features_in_} features, this graph has {features}")
        return self._probabilities(whole)

    def predict(self, graph: Any) -> NDArray[Any]:
        """The most probable class of every node, shape ``(n,)``."""
        shares = self.predict_proba(graph)  # first, so that it is checked to be fitted
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def score(self, graph: Any, y: ArrayLike | None = None) -> float:
        """Accuracy, or ROC-AUC if ``metric`` says so, over the nodes whose label is known in ``y``.

        Set the labels of training nodes to -1; otherwise they count too. Without ``y`` the graph's own labels count,
        of PyTorch Geometric data with masks only those of ``test_mask``, or those that ``fit`` does not use.
        """
        check_is_fitted(self)
        whole, theirs = read_labels(graph, y, role="score")
        check_feature_names(getattr(self, "feature_names_in_", None), graph)
        known = whole.labelled
        if len(known) == 0:
            raise ValueError("no node has a label to score on; give y")
        place = {str(name): code for code, name in enumerate(self.classes_.tolist())}
        unseen = [name for name in theirs[np.unique(whole.labels[known])].tolist() if str(name) not in place]
        if unseen:
            raise ValueError(f"label {unseen[0]!r} is not one of the classes {', '.join(place)}")
        codes = np.array([place.get(str(name), -1) for name in theirs.tolist()])
        return score(self.metric, self.predict_proba(whole)[known], codes[whole.labels[known]])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, atomically; :meth:`load` reads it."""
        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; an error if the file is truncated, changed or of a newer version."""
        loaded: Self = load(cls, path)
        return loaded

    def _candidates(self, graph: Graph) -> list[Candidate]:
        """The settings to try on a graph."""
        own = {"max_epochs": self.max_epochs, "patience": self.patience, "metric": self.metric}
        fixed = {**(self.settings or {}), **own}
        if self.tune == "auto" and self.regime == IN_MEMORY:
            transductive = not self.transferable and graph.nodes <= MOST_TRANSDUCTIVE
            return candidates(self.model, fixed, transductive=transductive)
        return [Candidate(self.model, override(default_setting(self.model), fixed))]

    def _probabilities(self, graph: Graph) -> NDArray[np.float64]:
        return self.ensemble_.probabilities(
            graph, device=str(self.device), store=self.store, max_memory=self.max_memory
        )


def _plain(record: Any) -> dict[str, Any]:
    """A run's options and training fields by name, without the seeds."""
    both = {**record.options, **{name: value for name, value in record.config.items() if "seed" not in name}}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in both.items()}
