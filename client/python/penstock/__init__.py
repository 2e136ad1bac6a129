"""Data preparation for training."""
