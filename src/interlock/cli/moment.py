"""A moment: when something happened, in the reader's form, always in UTC."""

from datetime import UTC, datetime, timedelta

from interlock.cli.terminal import Terminal

__all__ = ["after", "moment"]

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def moment(terminal: Terminal, at: int) -> str:
    """Give date and time of `at`, which is milliseconds since the Unix epoch; the number where no calendar
    has it."""
    from babel.dates import format_date, format_time  # costs 30 ms at start, needed for times only

    locale = terminal.language.replace("-", "_")
    try:
        when = BEGINNING + timedelta(milliseconds=at)
    except OverflowError:
        return f"{at} ms"
    return f"{format_date(when, 'medium', locale)}, {format_time(when, 'HH:mm:ss', locale=locale)} UTC"


def after(terminal: Terminal, ms: int) -> str:
    """Give a time in milliseconds as seconds, wide enough for a column."""
    from babel.numbers import format_decimal

    return f"{format_decimal(ms / 1000, '0.000', locale=terminal.language.replace('-', '_')):>8}"
