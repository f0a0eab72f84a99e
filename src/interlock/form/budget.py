"""A budget as people write it: whole numbers of calls and tokens, money in units, time as `10m`."""

from typing import Any

from interlock.form.amount import micro_units_in, milliseconds_in, money_text, time_text
from interlock.form.form import Form
from interlock.gate.budget import Budget

__all__ = ["BUDGET_KEYS", "budget_of", "form_of_budget"]

BUDGET_KEYS = ("tool_calls", "tokens", "money", "wall_time")


def budget_of(form: Form, default: Budget | None = None) -> Budget:
    """Read `{tool_calls: 20, tokens: 100000, money: "1.50", wall_time: 10m}`.

    What it does not name keeps the limit of `default`. Problems are noted in the form's report.
    """
    usual = default or Budget()
    if form.value is None or not form.fields(BUDGET_KEYS):
        return usual
    return Budget(
        tool_calls=form.at("tool_calls").whole(usual.tool_calls),
        tokens=form.at("tokens").whole(usual.tokens),
        money=form.at("money").amount(micro_units_in, "money", usual.money),
        wall_ms=form.at("wall_time").amount(milliseconds_in, "time", usual.wall_ms, 1),
    )


def form_of_budget(budget: Budget) -> dict[str, Any]:
    """Write a budget as `budget_of` reads it."""
    form: dict[str, Any] = {"tool_calls": budget.tool_calls, "tokens": budget.tokens}
    if budget.money is not None:
        form["money"] = money_text(budget.money)
    if budget.wall_ms is not None:
        form["wall_time"] = time_text(budget.wall_ms)
    return {name: value for name, value in form.items() if value is not None}
