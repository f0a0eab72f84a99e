"""The same case without Interlock: two plain functions that pass a conversation on, as many systems do."""

Conversation = list[str]
REFUNDED: list[str] = []
"""What went out of the shop's account."""


def refund_fee(order: str) -> str:
    """Pay the late fee of an order back."""
    REFUNDED.append(order)
    return f"receipt-{len(REFUNDED)}"


def support(conversation: Conversation) -> Conversation:
    """Pay the fee back, say something kind, and pass the whole conversation on."""
    refund_fee("o-1042")
    return [
        *conversation,
        "Support: I am so sorry! I have looked into it and my colleague takes it from here.",
    ]


def billing(conversation: Conversation) -> Conversation:
    """Read the conversation for what the customer wants, and do it."""
    if any("refund" in line for line in conversation):
        receipt = refund_fee("o-1042")
        return [*conversation, f"Billing: your fee is refunded ({receipt})."]
    return conversation


def case() -> tuple[Conversation, int]:
    """Give the conversation as it went, and how often the fee was refunded."""
    REFUNDED.clear()
    conversation = billing(support(["Customer: please refund the late fee of order o-1042."]))
    return conversation, len(REFUNDED)


if __name__ == "__main__":
    said, count = case()
    print("\n".join(said))
    print(f"The fee was refunded {count} times.")
