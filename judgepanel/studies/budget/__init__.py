"""Studies of the label budget page: how many labels all judges and the top k need."""
