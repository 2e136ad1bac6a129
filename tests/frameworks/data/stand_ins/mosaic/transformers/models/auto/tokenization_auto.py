class AutoTokenizer:
    """A class of transformers."""
