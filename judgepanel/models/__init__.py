"""scikit-learn estimators over the kernels."""
