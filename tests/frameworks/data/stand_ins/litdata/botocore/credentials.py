class InstanceMetadataProvider:
    """A class of botocore."""
