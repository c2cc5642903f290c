"""Scope checks: is the recommendation safe for these votes?"""
