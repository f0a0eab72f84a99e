"""The desk of a shop: two tools, and the agents that use them. Each agent is a function, as in a framework of one's
own."""

from interlock import Finish, FunctionRun, InterlockError, tool

ORDERS = {"o-1042": {"customer": "Ana", "fee": 12.5, "parcel": "at the depot"}}
BANK: list[tuple[str, float]] = []
"""What went out of the shop's account, for whoever counts."""


@tool(effect="read", labels=[])
async def find_order(order_id: str) -> dict[str, object]:
    """Look an order up."""
    return {"order_id": order_id, **ORDERS[order_id]}


@tool(effect="write", steers=["order_id", "amount"], labels=[], key="{task_id}:refund_fee:{order_id}")
async def refund_fee(order_id: str, amount: float, reason: str = "") -> dict[str, object]:
    """Pay the late fee of an order back. The account is debited each time this is called."""
    BANK.append((order_id, amount))
    return {"receipt": f"receipt-{len(BANK)}", "order_id": order_id, "amount": amount}


@tool(effect="read", labels=[])
async def paid_back(order_id: str) -> int:
    """Count how often the fee of an order went out of the account."""
    return sum(paid == order_id for paid, _ in BANK)


async def support(run: FunctionRun) -> Finish:
    """Hear the customer, do what can be done at once, and pass the case on."""
    brief = run.input
    order = await run.call("find_order", order_id=brief["order_id"])
    if "ask_around" in brief:
        return await _ask_around(run, brief["ask_around"] == "through support")
    if brief.get("copy_conversation"):
        await _write_too_much(run)
    receipt = await run.call(
        "refund_fee", order_id=order["order_id"], amount=order["fee"], reason="it was our delay"
    )
    await run.call(
        "hand_over",
        to=brief["pass_to"],
        goal=brief["customer_says"],
        facts=[
            {"id": "order", "fact": order["order_id"]},
            {"id": "receipt", "fact": f"the late fee was paid back: {receipt['receipt']}"},
        ],
        remains=["correct the invoice", "tell the customer"],
        constraints=["write in English"],
        reason="invoices are corrected by billing",
    )
    return Finish("The fee is paid back; billing has the case.")


async def _write_too_much(run: FunctionRun) -> None:
    """Send the whole conversation, as one does without a platform; it is refused, and a short message goes out."""
    conversation = "Customer: my parcel is late! Support: I am sorry, I will see. " * 60
    try:
        await run.call("send", to="billing@acme/desk", text=conversation)
    except InterlockError:
        await run.call("send", to="billing@acme/desk", text="A case about order o-1042 will come to you.")


async def _ask_around(run: FunctionRun, through_support: bool) -> Finish:
    """Ask billing and shipping; without a coordinator billing asks shipping for itself."""
    where = ""
    if through_support:
        where = (await run.call("ask", to="shipping@acme/desk", text="where is o-1042?"))["text"]
    fee = await run.call("ask", to="billing@acme/desk", text=f"is the fee of o-1042 due? {where}".strip())
    if not through_support:
        where = (await run.call("ask", to="shipping@acme/desk", text="where is o-1042?"))["text"]
    return Finish(f"{fee['text']} {where}")


async def billing(run: FunctionRun) -> Finish:
    """Correct an invoice. What was done stands in the package: nobody need ask for it again."""
    if run.input["type"] == "question":
        return await _is_fee_due(run)
    if run.input["type"] == "status":
        return Finish("Noted.")
    order = next(fact["fact"] for fact in run.input["facts"] if fact["id"] == "order")
    receipts = [
        action["result"]["receipt"]
        for action in run.input["actions"]
        if action["tool"] == "refund_fee"
        and action["outcome"] == "done"
        and action["arguments"]["order_id"] == order
    ]
    if receipts:
        return Finish(
            f"The invoice of {order} is corrected; the fee had been paid back before ({receipts[0]})."
        )
    found = await run.call("find_order", order_id=order)
    paid = await run.call("refund_fee", order_id=order, amount=found["fee"])
    return Finish(f"The invoice of {order} is corrected, and the fee paid back ({paid['receipt']}).")


async def _is_fee_due(run: FunctionRun) -> Finish:
    where = run.input["text"]
    if "depot" not in where:
        where = (await run.call("ask", to="shipping@acme/desk", text="is o-1042 late?"))["text"]
    return Finish("No fee is due: the parcel is late." if "depot" in where else "The fee is due.")


async def hasty_billing(run: FunctionRun) -> Finish:
    """Correct an invoice without looking at the package: asks for the refund once more."""
    order = await run.call("find_order", order_id="o-1042")
    receipt = await run.call(
        "refund_fee", order_id=order["order_id"], amount=order["fee"], reason="better safe than sorry"
    )
    return Finish(f"The invoice of o-1042 is corrected, with {receipt['receipt']}.")


async def shipping(run: FunctionRun) -> Finish:
    """Say where a parcel is."""
    order = await run.call("find_order", order_id="o-1042")
    return Finish(f"o-1042 is {order['parcel']}.")
