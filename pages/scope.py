"""Scope: is the default safe here?"""

from judgepanel.ui.frame import frame, guard
from judgepanel.ui.pages import scope

shown = frame("Scope", "Is the default safe here?")
scope.page(guard(shown, "This page checks whether keeping all judges is safe on your votes."))
