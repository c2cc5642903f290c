"""Studies of the methods page: which aggregator and calibrator serve these votes."""
