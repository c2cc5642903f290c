"""Renderers of blocks as HTML, Markdown or terminal text. All text is untrusted and is escaped.

The renderer of the pages is in :mod:`judgepanel.ui.render`.
"""
