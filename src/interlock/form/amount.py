"""An amount: how people write money, time and sizes, and the whole numbers that the platform counts in."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

__all__ = ["LARGEST", "bytes_in", "micro_units_in", "milliseconds_in", "money_text", "size_text", "time_text"]

LARGEST = 2**63 - 1
"""The largest whole number that both databases keep."""

MICRO = 1_000_000
MONEY = re.compile(r"[0-9]{1,13}(?:\.[0-9]{1,6})?\Z", re.ASCII)
EXACT_FLOAT = 1e9
"""Below it a float holds six decimal places exactly as they were written."""

TIME = re.compile(r"([0-9]{1,19}) ?(ms|s|m|h|d)\Z", re.ASCII)
MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZE = re.compile(r"([0-9]{1,19}) ?(B|KiB|MiB|GiB)\Z", re.ASCII)
BYTES = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def micro_units_in(value: Any) -> int | None:
    """Give the micro-units of the currency in `"1.50"`, `1.5` or `2`; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float) and not 0 <= value < EXACT_FLOAT:
        return None
    try:
        text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)
    except (InvalidOperation, ValueError):
        return None
    amount = int(Decimal(text) * MICRO) if MONEY.match(text) else None
    return amount if amount is not None and amount <= LARGEST else None


def milliseconds_in(value: Any) -> int | None:
    """Give the milliseconds in `"90s"`, `"10m"`, `"2h"`, `"250ms"` or 90 (seconds); None for others."""
    return _counted(value, TIME, MILLISECONDS, 1000)


def bytes_in(value: Any) -> int | None:
    """Give the bytes in `"64MiB"`, `"256 KiB"` or 4096; None for anything else."""
    return _counted(value, SIZE, BYTES, 1)


def _counted(value: Any, pattern: re.Pattern[str], units: dict[str, int], bare: int) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        amount = value * bare
    elif isinstance(value, str) and (found := pattern.match(value)):
        amount = int(found.group(1)) * units[found.group(2)]
    else:
        return None
    return amount if 0 <= amount <= LARGEST else None


def money_text(amount: int) -> str:
    """Write micro-units as `micro_units_in` reads them: 1500000 is `"1.50"`."""
    whole, rest = divmod(amount, MICRO)
    return f"{whole}.{f'{rest:06d}'.rstrip('0').ljust(2, '0')}"


def size_text(amount: int) -> str:
    """Write bytes as `bytes_in` reads them, in the largest unit that divides them."""
    unit = next(unit for unit in ("GiB", "MiB", "KiB", "B") if amount % BYTES[unit] == 0)
    return f"{amount // BYTES[unit]}{unit}"


def time_text(amount: int) -> str:
    """Write milliseconds as `milliseconds_in` reads them, in the largest unit that divides them."""
    unit = next(unit for unit in ("h", "m", "s", "ms") if amount % MILLISECONDS[unit] == 0)
    return f"{amount // MILLISECONDS[unit]}{unit}"
