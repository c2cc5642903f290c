"""The public Python interface: votes, studies, panels and reports."""
