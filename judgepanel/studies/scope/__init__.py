"""Is the recommendation safe here?"""
