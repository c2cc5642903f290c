"""Trust in probabilities: reliability, selective prediction, conformal sets, single items."""
