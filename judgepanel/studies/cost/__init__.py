"""Costs of panels: the frontier of NLL against cost, and asking a cheap panel first."""
