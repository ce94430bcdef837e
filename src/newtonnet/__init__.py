"""Spectral graph learning."""
