"""The workspace behind the pages: votes, analyses, results and jobs, kept across restarts."""
