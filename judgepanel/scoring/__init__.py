"""Metrics, splits and inference: arrays in, frozen results out."""
