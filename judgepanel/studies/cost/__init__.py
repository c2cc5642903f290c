"""What a panel costs: the frontier of NLL against cost, and asking a cheap panel first."""
