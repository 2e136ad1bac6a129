class InstanceMetadataFetcher:
    """A class of botocore."""
