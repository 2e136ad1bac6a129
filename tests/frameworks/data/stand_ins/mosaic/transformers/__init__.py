"""Stands in for transformers, of which streaming imports some classes that the tests do not use."""
