"""Stands in for botocore, of which litdata imports some classes that the tests do not use."""
