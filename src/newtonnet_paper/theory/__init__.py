"""Lemma 1, Theorem 1 and Theorem 2, tried on generated graphs: where they hold, and the smallest counterexamples."""

from .study import THEORY

__all__ = ["THEORY"]
