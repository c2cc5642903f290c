"""From results and figures to HTML and Markdown."""
