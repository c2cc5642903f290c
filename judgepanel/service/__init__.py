"""The workspace that pages and the command line use: votes, analyses, results and jobs."""
