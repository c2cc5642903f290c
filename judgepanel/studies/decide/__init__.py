"""Studies to decide with: which judges, at what cost, worth how much?"""
