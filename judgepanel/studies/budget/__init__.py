"""Studies of the label budget: how many labels do all judges and the top k need?"""
