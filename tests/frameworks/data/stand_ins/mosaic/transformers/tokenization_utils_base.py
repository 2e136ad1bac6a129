class BatchEncoding:
    """A class of transformers."""
