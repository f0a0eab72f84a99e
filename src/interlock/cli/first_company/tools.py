"""The tools of a first company: what agents may do outside, and what the Gate must know about each."""

from interlock.connector.tool import tool

OPEN_ORDERS = {"Ana": ["order-17", "order-18"], "Rui": []}


@tool(effect="read", labels=[])
async def open_orders(customer: str) -> list[str]:
    """List the open orders of a customer."""
    return OPEN_ORDERS.get(customer, [])
