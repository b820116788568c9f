"""Markdown tables of figures."""
import math


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else None


def ratio(a, b):
    return None if a is None or not b else a / b


def time(seconds):
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}" if seconds < 999.5 * scale else f"{seconds / scale:.0f} {unit}"
    return ""


def percent(value, digits=0):
    return "" if value is None else f"{100 * value:.{digits}f} %"


def times(value):
    """A ratio as "1.52x"."""
    return "" if value is None else f"{value:.2f}x"


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}" if abs(value) < 10 ** digits else f"{value:,.0f}"


def met(value, target):
    return "" if value is None or target is None else "yes" if value >= target else "no"


def table(head, rows):
    """The first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " --: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"
