class BatchFeature:
    """A class of transformers."""
