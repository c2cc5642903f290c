"""A line of progress that is overwritten and disappears at the end."""

from __future__ import annotations

import html
import sys
from types import TracebackType
from typing import Any


class ProgressLine:
    """Progress on a terminal's stderr or below a notebook's cell; nothing elsewhere."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._widest = 0
        self._in_notebook = None if self._on_terminal else _notebook_handle()
        self._handle: Any = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._write("\r" + " " * self._widest + "\r")
        if self._handle is not None:
            self._handle.update(_cell(""), raw=True)

    def show(self, text: str, share: float = 0.0) -> None:
        """Write ``text`` over the current line; a notebook also draws ``share``, in [0, 1]."""
        self._write("\r" + text.ljust(self._widest))
        self._widest = max(self._widest, len(text))
        if self._in_notebook is not None:
            cell = _cell(text, share)
            if self._handle is None:
                # Stored before it is shown, since the stop button can be pressed in between.
                self._handle = self._in_notebook()
                self._handle.display(cell, raw=True)
            else:
                self._handle.update(cell, raw=True)

    def _write(self, text: str) -> None:
        if self._on_terminal:
            print(text, end="", file=sys.stderr, flush=True)  # noqa: T201


def _cell(text: str, share: float = 0.0) -> dict[str, str]:
    bar = f'<progress value="{share:.3f}"></progress> {html.escape(text)}' if text else ""
    return {"text/plain": text, "text/html": bar}


def _notebook_handle() -> Any:
    """IPython's display handle inside a notebook's kernel, else None; never imports IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    return getattr(sys.modules.get("IPython.display"), "DisplayHandle", None)
