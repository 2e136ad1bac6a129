"""Automatic classes of transformers."""
