"""Blocks as HTML, Markdown or text for a terminal. All text is untrusted and reaches them escaped.

The renderer of the pages is in :mod:`judgepanel.ui.render`.
"""
