"""Is the default safe here?"""
