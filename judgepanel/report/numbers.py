"""Numbers as people read them: three significant figures, intervals in brackets."""

from __future__ import annotations

import math


def sig(value: float, digits: int = 3) -> str:
    """Plain decimals with ``digits`` significant figures; thousands separated."""
    if not math.isfinite(value):
        return "n/a"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text if float(text.replace(",", "")) != 0 else "0"


def signed(value: float, digits: int = 2) -> str:
    """As :func:`sig` with an explicit sign."""
    text = sig(value, digits)
    return text if text.startswith("-") or text in ("0", "n/a") else f"+{text}"


def fixed(value: float, places: int) -> str:
    """A fixed number of decimals, n/a where there is no number."""
    return f"{value:,.{places}f}" if math.isfinite(value) else "n/a"


def interval(lo: float, hi: float, digits: int = 2, *, sign: bool = False) -> str:
    """``[lo, hi]`` with as many decimals as its wider end needs for ``digits`` figures."""
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return "[n/a]"
    places = decimals(max(abs(lo), abs(hi)), digits)
    form = "+" if sign else ""
    return f"[{lo:{form},.{places}f}, {hi:{form},.{places}f}]"


def decimals(value: float, digits: int) -> int:
    """Decimals that show ``digits`` significant figures of a value."""
    if value == 0 or not math.isfinite(value):
        return digits
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def p_value(p: float) -> str:
    """``p < .001`` or ``p = .042``."""
    if not math.isfinite(p):
        return "p n/a"
    return "p < .001" if p < 0.001 else "p = " + f"{min(p, 0.999):.3f}".lstrip("0")


def percent(share: float, digits: int = 2) -> str:
    """A share in per cent with ``digits`` significant figures."""
    return f"{sig(100.0 * share, digits)} %" if math.isfinite(share) else "n/a"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """``1 judge``, ``2,985 items``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
