"""Metrics, splits and inference: functions of arrays that return frozen results."""
