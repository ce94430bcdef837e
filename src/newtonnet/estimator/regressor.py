"""``NewtonNetRegressor``: an estimator for numbers on the nodes of a graph, with a scikit-learn interface."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from newtonnet.explanations import Explanation, rescale
from newtonnet.graphs import Graph, assortativity, check_trainable
from newtonnet.metrics import number_score
from newtonnet.training import OnEpoch

from .conformal import Array, calibrate, prediction_intervals
from .ensemble import OutOfFold
from .estimator import GraphEstimator, chosen_nodes
from .explaining import explain_ensemble
from .frames import read_fitted
from .inputs import AUTO, Role, check_feature_names, check_parameters, read_targets, without_targets
from .portfolio import OnTrial, deadline_in

METRIC_OF = {"squared": "r2", "absolute": "d2_absolute_error"}
"""What settings are compared by, for each loss."""
ANOTHER_GRAPH = (
    "these intervals were calibrated on another graph; their coverage holds only if its nodes are of the same kind as "
    "these"
)


class NewtonNetRegressor(RegressorMixin, GraphEstimator):  # type: ignore[misc]
    """Predict a number for every node of a graph.

    The portfolio, the folds and the average are those of :class:`~newtonnet.NewtonNetClassifier`, with one output and a
    squared or absolute loss; targets are standardised inside. Homophily is the correlation of neighbours' numbers,
    and the shape regulariser compares it with 0.

    Args:
        model: any model of the zoo, ``boosting`` or ``ridge``.
        tune: ``auto``, or ``off`` to train only the model's defaults (changed by ``settings``).
        settings: options of the model or its training by name; they hold in every setting that is tried.
        folds: number of inner folds; the model is an average over them. None chooses it by the number of targets.
        max_epochs: maximum number of epochs.
        patience: epochs without a better validation score after which training stops.
        standardise: ``auto`` standardises numeric features of unequal scales, ``off`` leaves all alone.
        loss: ``squared``, for the mean; or ``absolute``, for the median, on which a few large numbers weigh less. Ridge
            regression is always squared.
        time_limit: seconds that ``fit`` may take, or None for no limit.
        label_inputs: allow members that read the known numbers of other nodes as inputs.
        transferable: leave out transductive settings, so that the model can predict on other graphs; members do not
            read known numbers then.
        threads: number of threads; torch's number if not given.
        max_memory: the most memory that the process may hold while it fits, in bytes or as text such as ``2GB``, kept
            within 10%. Settings that need more are left out (``notes_`` says which), and others train fewer members at
            once. A limit that is too low is refused.
        device: where to train; only the CPU is tested.
        random_state: random seed of folds, start weights and dropout.

    Attributes:
        target_name_: what the numbers are called.
        target_mean_: their mean, which is subtracted.
        target_scale_: their standard deviation, by which they are divided.
        homophily_: learned homophily, the correlation of neighbours' numbers, where unknown ones are predicted.
        out_of_fold_: nodes as predicted by the members that were not trained on them, in the units of the targets.
        validation_score_: their mean score over the folds, R² for the squared loss; slightly optimistic.
        n_features_in_: number of features.
        feature_names_in_: names of the features, if they came in a pandas frame.
        ensemble_: the trained members and their weights.
        settings_: the settings in the average by descending weight.
        tried_: number of settings tried.
        notes_: what was done to the features, in sentences.
        complete_: whether there was time for all settings but those that are for spare time.
        filter_: the :class:`~newtonnet.estimator.LearnedFilter` of the heaviest setting that has one.
        filter_weight_: that setting's share of the average.
        history_: curves of its members.
        records_: the records of its members.
    """

    def __init__(
        self,
        model: str = "newtonnet",
        *,
        tune: str = "auto",
        standardise: str = "auto",
        settings: Mapping[str, Any] | None = None,
        folds: int | None = None,
        max_epochs: int = 1000,
        patience: int | None = 100,
        loss: str = "squared",
        time_limit: float | None = 60.0,
        label_inputs: bool = True,
        transferable: bool = False,
        threads: int | None = None,
        max_memory: int | str | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.tune = tune
        self.standardise = standardise
        self.settings = settings
        self.folds = folds
        self.max_epochs = max_epochs
        self.patience = patience
        self.loss = loss
        self.time_limit = time_limit
        self.label_inputs = label_inputs
        self.transferable = transferable
        self.threads = threads
        self.max_memory = max_memory
        self.device = device
        self.random_state = random_state

    @property
    def metric(self) -> str:  # type: ignore[override]
        """What settings are compared by: R², or its like for absolute errors."""
        return METRIC_OF[self.loss]

    def fit(
        self,
        graph: Any,
        y: ArrayLike | None = None,
        *,
        validation: ArrayLike | None = None,
        show_validation: bool = True,
        stop: Callable[[], bool] | None = None,
        progress: bool = False,
        on_epoch: OnEpoch | None = None,
        on_trial: OnTrial | None = None,
    ) -> Self:
        """Train on the nodes whose number is known.

        Args:
            graph: the graph.
            y: a number for each node, None or NaN for unknown, or the column of two tables that holds them; the
                graph's own targets if not given, of PyTorch Geometric data and networkx graphs those in ``y``.
            validation: nodes with a known number, as numbers or a mask, that only choose settings and epochs; all
                others train. Without them, inner folds hold out every such node in turn.
            show_validation: whether members that read known numbers are also shown those of the validation nodes at
                prediction.
            stop: called after every epoch; if it returns True, training stops and the best result so far is kept.
            progress: show a progress bar, in a terminal or a notebook.
            on_epoch: called after every epoch with a :class:`~newtonnet.training.Progress`: the step and its finished
                share, epoch, loss, homophily, and the best validation score so far.
            on_trial: called with a :class:`~newtonnet.estimator.TriedSetting` whenever a setting was trained, again if
                it trained on.

        Returns:
            The fitted regressor itself.
        """
        check_parameters(self.get_params())
        deadline = deadline_in(self.time_limit, stop)
        graph, y, reading = read_fitted(graph, y, standardise=self.standardise == AUTO, numbers=True)
        whole = self.read(graph, y, role="train")
        check_trainable(whole)
        targets = whole.truth.astype(np.float64)
        known = targets[whole.labelled]
        mean, scale = float(known.mean()), float(known.std())
        tuned = self._train(
            graph,
            whole.with_targets((targets - mean) / scale),
            validation=validation,
            show_validation=show_validation,
            deadline=deadline,
            progress=progress,
            on_epoch=on_epoch,
            on_trial=on_trial,
            reading=reading,
        )
        self.target_name_ = whole.class_names[0]
        self.target_mean_, self.target_scale_ = mean, scale
        held = tuned.out_of_fold
        self.out_of_fold_ = replace(
            held,
            probabilities=[part * scale + mean for part in held.probabilities],
            truth=[targets[nodes] for nodes in held.nodes],
        )
        predicted = tuned.probabilities[:, 0] * scale + mean
        self.homophily_ = assortativity(whole, np.where(whole.labels >= 0, targets, predicted))
        return self

    def read(self, graph: Any, y: ArrayLike | None = None, *, role: Role | None = None) -> Graph:
        """The graph with numbers as targets: these, or its own of a role (see :meth:`fit` and :meth:`score`)."""
        return read_targets(graph, y, role=role)

    def bare(self, graph: Any) -> Graph:
        """The graph, whatever is known of its nodes."""
        return without_targets(graph)[0]

    def training_fields(self, graph: Graph) -> dict[str, Any]:
        """The loss."""
        return {"loss": self.loss}

    def as_members_predict(self, held: OutOfFold) -> OutOfFold:
        """Held-out nodes with standardised numbers."""
        mean, scale = self.target_mean_, self.target_scale_
        predicted, truth = ([(part - mean) / scale for part in parts] for parts in (held.probabilities, held.truth))
        return replace(held, probabilities=predicted, truth=truth)

    def predict(self, graph: Any) -> Array:
        """The number of every node, shape ``(n,)``."""
        return self._numbers(self._checked(graph))

    def answers(self, graph: Any) -> Array:
        """The same as :meth:`predict` in one column, shape ``(n, 1)``."""
        return self.predict(graph)[:, None]

    def predict_interval(self, graph: Any, coverage: float = 0.9, *, predictions: Array | None = None) -> Array:
        """Lower and upper end of an interval for the number of every node, shape ``(n, 2)``.

        The true number lies inside for about a share ``coverage`` of the nodes: the width comes from the out-of-fold
        errors of the nodes whose number is known. That holds for nodes of the same kind, drawn like the known ones.
        It is doubtful if they are of another time or another graph (then there is a warning), or if the validation
        nodes were chosen by the caller. Known nodes of the training graph have the intervals of their out-of-fold
        predictions, widened to hold the prediction. With too few known nodes for the coverage, ends are infinite. See
        :func:`~newtonnet.estimator.conformal.prediction_intervals`.

        Args:
            graph: the graph.
            coverage: share of the nodes whose interval should hold their true number.
            predictions: what :meth:`predict` gave, if that is known.
        """
        whole = self._checked(graph)
        held: OutOfFold | None = self.out_of_fold_
        if held is None:
            raise ValueError("this model has no out-of-fold predictions to calibrate intervals with; fit it again")
        values = self._numbers(whole) if predictions is None else predictions
        nodes, own, truth = held.whole
        calibration, centres = calibrate(np.abs(truth - own[:, 0]), np.zeros(len(nodes)), nodes), values.copy()
        if whole.structure == held.structure and nodes.max(initial=0) < whole.nodes:
            centres[nodes] = own[:, 0]
        else:
            warnings.warn(ANOTHER_GRAPH, stacklevel=2)
        lower, upper = prediction_intervals(centres, calibration, coverage)
        return np.stack([np.minimum(lower, values), np.maximum(upper, values)], axis=1)

    @overload
    def explain(self, graph: Any, node: int | str) -> Explanation: ...

    @overload
    def explain(self, graph: Any, node: Sequence[int | str]) -> list[Explanation]: ...

    def explain(self, graph: Any, node: int | str | Sequence[int | str]) -> Explanation | list[Explanation]:
        """Why a node has its number: contributions that, with the bias, sum to the prediction.

        The members of the ensemble are explained each by the method that fits its kind; the explanation is their
        weighted sum, in the units of the targets, and so complete for the ensemble itself.

        Args:
            graph: the graph.
            node: number or name of a node, or several; the work that they share is done once.

        Returns:
            A :class:`~newtonnet.explanations.Explanation`, or a list of them for several nodes.
        """
        whole = self._checked(graph)
        nodes, several = chosen_nodes(whole, node)
        parts = explain_ensemble(self.ensemble_, self._scaled(whole), nodes, [(0, None)] * len(nodes))
        found = [rescale(part, self.target_scale_, self.target_mean_) for part in parts]
        names = tuple(getattr(self, "feature_names_in_", ()))
        found = [replace(one, feature_names=names) for one in found]
        return found if several else found[0]

    def score(self, graph: Any, y: ArrayLike | str | None = None) -> float:
        """R² over the nodes whose number is known in ``y``, or in the column that it names, whatever the loss is.

        Set the numbers of training nodes to NaN; otherwise they count too. Without ``y`` the graph's own targets count,
        of PyTorch Geometric data with masks only those of ``test_mask``, or those that ``fit`` does not use.
        """
        check_is_fitted(self)
        graph, y = self._scored(graph, y)
        whole = self.read(graph, y, role="score")
        check_feature_names(getattr(self, "feature_names_in_", None), graph)
        known = whole.labelled
        if len(known) == 0:
            raise ValueError("no node has a known number to score on; give y")
        return number_score("r2", self.predict(whole)[known], whole.truth[known].astype(np.float64))

    def _numbers(self, graph: Graph) -> NDArray[np.float64]:
        return self._answers(graph)[:, 0] * self.target_scale_ + self.target_mean_
