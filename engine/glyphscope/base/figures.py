"""Numbers with their units: one form of each for the window, the command line, messages and reports.

Machine formats (JSON, CSV, records) keep the raw numbers. Thousands are `f"{n:,}"` everywhere.
"""

from __future__ import annotations

import math

UNKNOWN = "–"
"""Shown for an unknown value, never 0."""

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def count(number: int | None) -> str:
    """`12,345`; a dash for None."""
    return UNKNOWN if number is None else f"{number:,}"


def pluralize(n: int, noun: str) -> str:
    """`1 arm`, `1,200 arms`."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def plain_number(value: float) -> str:
    """`1,240`, `38`, `4.2`: a mean or a median without its unit."""
    return f"{value:,.0f}" if abs(value) >= 99.95 or float(value).is_integer() else f"{value:,.1f}"


def percent(share: float | None, decimals: int = 1) -> str:
    """`77.4%` for a share from 0 to 1. Only 0 and 1 become `0.0%` and `100.0%`; values close to them become `<0.1%` and
    `>99.9%`. Without decimals (`83%`), a share that would be rounded to 0 or 1 gets one decimal: `0.4%`.
    """
    if share is None:
        return UNKNOWN
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1 - 1e-6:
        return ">99.9%"
    text = f"{share:.{decimals}%}"
    return f"{share:.1%}" if text in ("0%", "100%") and 0 < share < 1 - 1e-6 else text


def percent_change(now: float, before: float) -> str:
    """`-11.5%`, relative to the value before; a dash if that was 0."""
    return f"{(now - before) / before:+.1%}" if before else UNKNOWN


def duration(seconds: float | None) -> str:
    """`0.42 ms`, `4.2 ms`, `412 ms`, `3.2 s`, `61.3 s`, `2 min 5 s`, `2 h 5 min`; `30 s` for whole values."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    ms = max(seconds, 0.0) * 1000
    if 0 < ms < 0.005:
        return "<0.01 ms"
    if ms < 999.5:
        return f"{_decimals(ms, 2 if ms < 0.995 else 1 if ms < 9.95 else 0)} ms"
    if seconds < 119.95:
        return f"{_decimals(ms / 1000, 1)} s"
    whole = round(seconds)
    high, low, names = (
        (whole // 60, whole % 60, ("min", "s"))
        if whole < 7200
        else (round(seconds / 60) // 60, round(seconds / 60) % 60, ("h", "min"))
    )
    return f"{high:,} {names[0]}" + (f" {low} {names[1]}" if low else "")


def duration_ms(ms: float | None) -> str:
    """`duration` for milliseconds."""
    return UNKNOWN if ms is None else duration(ms / 1000)


def estimate(seconds: float) -> str:
    """`45 s`, `3 min`, `2 h 5 min`: a remaining time, in whole seconds or minutes, at least one second."""
    return duration(max(round(seconds), 1) if seconds < 119.5 else max(round(seconds / 60), 2) * 60)


def plain_ms(ms: float | None) -> str:
    """`0.42`, `12.3`: milliseconds in a column whose title names the unit."""
    return UNKNOWN if ms is None else f"{ms:,.{2 if ms < 9.995 else 1}f}"


def byte_size(bytes: int | None) -> str:
    """`812 B`, `3.4 kB`, `53.2 MB`, `268 MB`, `4.2 GB`; `64 MB` for whole values. 1 kB is 1,000 bytes."""
    if bytes is None:
        return UNKNOWN
    value, unit = float(bytes), 0
    while value >= (999.5 if unit else 1000) and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return f"{_decimals(value, 1 if unit and value < 99.95 else 0)} {_SIZES[unit]}"


def parameter_count(number: int) -> str:
    """`135M`, `8.03B`: the size of a model, with three digits."""
    value, unit = (number / 1e9, "B") if number >= 999_500_000 else (number / 1e6, "M")
    return f"{value:,.0f}{unit}" if value >= 99.95 else f"{value:.3g}{unit}"


def rate(amount: float) -> str:
    """`42 tokens/s`; below ten with one decimal, `3.4 tokens/s`."""
    return f"{_decimals(amount, 1 if amount < 9.95 else 0)} tokens/s"


def _decimals(value: float, decimals: int) -> str:
    return f"{value:,.{0 if float(value).is_integer() else decimals}f}"
