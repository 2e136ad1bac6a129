"""Stands in for boto3, which litdata imports, and the tests do not use."""
