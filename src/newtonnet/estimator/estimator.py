"""What the classifier and the regressor share: fitting a portfolio, the checks of a graph, saving and loading."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from newtonnet.files import write_whole
from newtonnet.graphs import Graph, as_graph, check_trainable
from newtonnet.memory import parse_amount, resident_memory
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.progress import progress_bar
from newtonnet.tables import Reading
from newtonnet.training import OnEpoch, Progress, override

from .candidates import candidates, without_labels
from .card import model_card
from .ensemble import OutOfFold
from .explaining import find_node
from .families import BANK, defaults_of, shown_labels
from .folds import fold_count, make_folds, own_split
from .frames import FittedTables, read_fitted, tables_of
from .importance import Importance, measure_importance
from .inputs import AUTO, IN_MEMORY, OUT_OF_CORE, Role, check_feature_names, feature_names
from .learned import curves, learned_filter
from .members import Candidate, TrainingOptions, settings_of
from .memory import FitMemory, fit_memory, graph_sizes, out_of_core_batches, within
from .portfolio import Deadline, OnTrial, Portfolio, tune
from .saving import load, save
from .scaling import learn_scaling

MOST_TRANSDUCTIVE = 50_000
"""Number of nodes up to which tuning tries transductive settings, whose weights for every node cost much memory."""


class GraphEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator of a number or a class for every node of a graph; a portfolio of settings behind one interface."""

    model: str
    tune: str
    standardise: str
    settings: Mapping[str, Any] | None
    folds: int | None
    max_epochs: int
    patience: int | None
    metric: str
    time_limit: float | None
    label_inputs: bool
    transferable: bool
    threads: int | None
    max_memory: int | str | None
    regime: str = IN_MEMORY
    store: str | PathLike[str] | None = None
    device: str
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def read(self, graph: Any, y: ArrayLike | None = None, *, role: Role | None = None) -> Graph:
        """The graph with what is known of its nodes: of this role, or all of it."""

    @abstractmethod
    def answers(self, graph: Any) -> NDArray[np.float64]:
        """What every node is predicted to be: probabilities of the classes, ``(n, C)``, or a number, ``(n, 1)``."""

    @abstractmethod
    def training_fields(self, graph: Graph) -> dict[str, Any]:
        """Fields of the training that this kind of estimator sets beside those of all, such as the loss."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, atomically, which :meth:`load` reads, and its model card beside it.

        The card of ``model.safetensors`` is ``model_card.md``.
        """
        check_is_fitted(self)
        save(self, path)
        place = Path(path)
        write_whole(place.with_name(f"{place.stem}_card.md"), model_card(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote, or that of a run folder; damaged and newer files are refused."""
        loaded: Self = load(cls, path)
        return loaded

    def _train(
        self,
        graph: Any,
        whole: Graph,
        *,
        validation: ArrayLike | None,
        show_validation: bool,
        deadline: Deadline,
        progress: bool,
        on_epoch: OnEpoch | None,
        on_trial: OnTrial | None,
        every_class: bool = False,
        reading: Reading | None = None,
    ) -> Portfolio:
        """Train the portfolio on a graph and keep what is learned, except what only one kind of estimator has."""
        check_trainable(whole)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        listed = self._candidates(whole)
        if validation is None:
            count = fold_count(whole) if self.folds is None else int(self.folds)
            folds = make_folds(whole, count, seed=seed, every_class=every_class)
        else:
            folds = [own_split(whole, validation)]
        listed, options, left_out = self._limited(listed, whole, len(folds), self._options(seed))
        self.scaling_ = learn_scaling(whole) if self.standardise == AUTO else None
        scaled = whole if self.scaling_ is None else self.scaling_(whole)
        shown: NDArray[Any] = whole.truth if validation is None or show_validation else shown_labels(whole, folds[0])
        with torch.inference_mode(False), torch.enable_grad(), progress_bar(shown=progress) as draw:

            def tell(state: Progress) -> None:
                draw(state.step, state.share, f"best {state.best:.3g}")
                if on_epoch is not None:
                    on_epoch(state)

            tuned = tune(
                scaled,
                listed,
                folds,
                options,
                deadline=deadline,
                shown=shown,
                on_epoch=tell,
                on_trial=on_trial,
            )

        self.n_features_in_ = int(whole.features.shape[1])
        self.__dict__.pop("feature_names_in_", None)  # as in scikit-learn: without names there is no attribute
        self.tables_ = None
        names = feature_names(graph)
        if reading is not None:
            self.tables_ = FittedTables(reading.columns, reading.encoding, whole.class_names)
            names = np.array(reading.encoding.feature_names, dtype=object) if reading.encoding.columns else None
        if names is not None:
            self.feature_names_in_ = names
        self.ensemble_ = tuned.ensemble
        self.records_ = [member.record for member in tuned.shown.members]
        self.filter_weight_ = tuned.shown.weight
        self.settings_ = [
            {"weight": entry.weight, "model": self._name(entry.candidate.model), **settings_of(entry.members[0].record)}
            for entry in tuned.chosen
        ]
        self.tried_ = tuned.tried
        self.leaderboard_ = [{**row, "model": self._name(row["model"])} for row in tuned.leaderboard]
        self.complete_ = tuned.complete
        self.out_of_fold_ = tuned.out_of_fold
        self.validation_score_ = float(np.mean(tuned.out_of_fold.scores))
        self.notes_ = [] if reading is None else list(reading.notes)
        self.notes_ += [] if self.scaling_ is None else [str(self.scaling_)]
        self.notes_ += [left_out] if left_out else []
        self.filter_ = learned_filter(self.records_)
        self.history_ = curves(self.records_)
        return tuned

    def importance(
        self,
        graph: Any,
        *,
        groups: Mapping[str, Sequence[int]] | None = None,
        repeats: int = 5,
        time_limit: float | None = 60.0,
    ) -> Importance:
        """How much worse held-out nodes are predicted when a feature is shuffled, or without edges.

        Every node whose label or number is known is predicted by the members that were not trained on it (see
        :func:`~newtonnet.estimator.importance.measure_importance`).

        Args:
            graph: the graph that the model was fitted on.
            groups: numbers of features that are shuffled together, by name, such as the categories of one column;
                every feature alone if not given.
            repeats: number of shuffles of each.
            time_limit: seconds after which no further shuffle begins; None: no limit.
        """
        whole = self._checked(graph)
        held: OutOfFold | None = self.out_of_fold_
        if held is None or whole.structure != held.structure or self.regime == OUT_OF_CORE:
            raise ValueError("importance needs the graph that the model was fitted on in memory, and held-out nodes")
        names = getattr(self, "feature_names_in_", [f"feature {i}" for i in range(self.n_features_in_)])
        given = {str(name): [i] for i, name in enumerate(names)} if groups is None else groups
        return measure_importance(
            self.ensemble_,
            self.as_members_predict(held),
            self._scaled(whole),
            self._options(),
            metric=self.metric,
            groups=given,
            repeats=repeats,
            time_limit=time_limit,
        )

    def as_members_predict(self, held: OutOfFold) -> OutOfFold:
        """Held-out nodes in the units of the members."""
        return held

    def _checked(self, graph: Any) -> Graph:
        """The graph, if it has the features that the model was fitted on."""
        check_is_fitted(self)
        graph = self._tabled(graph)
        whole = self.bare(graph)
        check_feature_names(getattr(self, "feature_names_in_", None), graph)
        features = whole.features.shape[1]
        if features != self.n_features_in_:
            raise ValueError(f"the model was trained on {self.n_features_in_} features, this graph has {features}")
        return whole

    def _tabled(self, graph: Any) -> Any:
        """Two tables, or a networkx graph whose attributes are columns, as those of the fit were read."""
        pair = None if isinstance(graph, Graph) else tables_of(graph, columns=self.tables_ is not None)
        if pair is None:
            return graph
        if self.tables_ is None:
            raise ValueError("this model was not fitted on two tables; give a graph of the kind that it was fitted on")
        return self.tables_.read(*pair)

    def _scored(self, graph: Any, y: Any) -> tuple[Any, Any]:
        """What ``score`` was given as a graph and labels; ``y`` may name the column that holds them, as in ``fit``."""
        if not isinstance(y, str):
            return self._tabled(graph), y
        pair = None if isinstance(graph, Graph) else tables_of(graph, columns=self.tables_ is not None)
        if pair is not None and self.tables_ is not None:
            return self.tables_.read(*pair, label=y), None
        return read_fitted(self._tabled(graph), y, numbers=self.ensemble_.numbers)[:2]

    def bare(self, graph: Any) -> Graph:
        """The graph, whatever is known of its nodes."""
        return as_graph(graph)

    def _candidates(self, graph: Graph) -> list[Candidate]:
        """The settings to try on a graph."""
        own: dict[str, Any] = {"max_epochs": self.max_epochs, "patience": self.patience, "metric": self.metric}
        own |= self.training_fields(graph)
        fixed = dict(self.settings or {})
        labels = self.label_inputs and not self.transferable
        if self.tune == AUTO and self.regime == IN_MEMORY:
            transductive = not self.transferable and graph.nodes <= MOST_TRANSDUCTIVE
            return candidates(
                self.model,
                fixed,
                own,
                transductive=transductive,
                labels=labels,
                spare=self.time_limit is not None,
                nodes=graph.nodes,
            )
        name = OUT_OF_CORE_MODEL if self.regime == OUT_OF_CORE else self.model
        own = (
            {field: own[field] for field in ("metric", "loss", "class_weight") if field in own} if name in BANK else own
        )
        default = defaults_of(self.model)
        return [Candidate(name, override(default, {**fixed, **own, **({} if labels else without_labels(default))}))]

    def _name(self, model: str) -> str:
        return self.model if model == OUT_OF_CORE_MODEL else model

    def _scaled(self, graph: Graph) -> Graph:
        """The graph with features as the members read them."""
        return graph if self.scaling_ is None else self.scaling_(graph)

    def _answers(self, graph: Graph) -> NDArray[np.float64]:
        """What the ensemble predicts for every node, ``(n, C)``."""
        return self.ensemble_.probabilities(self._scaled(graph), self._options())

    def _options(self, seed: int = 0) -> TrainingOptions:
        threads = None if self.threads is None else int(self.threads)
        room = None if self.limit is None else max(self.limit - resident_memory(), 1)
        return TrainingOptions(seed, threads, room, str(self.device), self.store)

    @property
    def limit(self) -> int | None:
        """``max_memory`` in bytes."""
        return None if self.max_memory is None else parse_amount(self.max_memory)

    def fit_memory(self, graph: Graph, *, validation: bool = False, reached: int = 0) -> FitMemory:
        """What ``fit`` will take on a graph, beside what the process holds now; with ``max_memory``, what it allows.

        Args:
            graph: the graph with its labels.
            validation: whether the caller gives validation nodes.
            reached: bytes that the process held before, if they count: more than ``max_memory`` is an error.
        """
        folds = 1 if validation else fold_count(graph) if self.folds is None else int(self.folds)
        listed, options, _ = self._limited(self._candidates(graph), graph, folds, self._options(), reached)
        threads = options.threads or torch.get_num_threads()
        return fit_memory(listed, graph_sizes(graph), folds=folds, threads=threads, max_memory=options.max_memory)

    def _limited(
        self, listed: list[Candidate], graph: Graph, folds: int, options: TrainingOptions, reached: int = 0
    ) -> tuple[list[Candidate], TrainingOptions, str]:
        """The settings that fit in ``max_memory``, with what is left for their training, and a note on the others."""
        if self.limit is None:
            return listed, options, ""
        sizes, held = graph_sizes(graph), resident_memory()
        listed, room, note = within(listed, sizes, folds=folds, resident=held, limit=self.limit, reached=reached)
        if self.regime == OUT_OF_CORE:
            room -= out_of_core_batches(listed[0].setting.options, sizes)
        return listed, replace(options, max_memory=room), note


def chosen_nodes(graph: Graph, node: int | str | Sequence[int | str]) -> tuple[list[int], bool]:
    """The numbers of nodes that are given by number or name, and whether they are several."""
    several = not isinstance(node, int | str | np.integer)
    given: Any = node if several else [node]
    return [find_node(graph, one) for one in given], several
