"""The front door for notebooks, scripts and the command line: votes, studies, panels, reports."""
