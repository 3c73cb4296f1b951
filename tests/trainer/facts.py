"""Compares a message with the facts that it has to state, whatever its words."""

import re

BETWEEN = " .. "


def states(message: str, facts: str) -> bool:
    """Whether one line of the message has all facts, which ` .. ` separates, in their order."""
    return re.search(".*".join(map(re.escape, facts.split(BETWEEN))), message) is not None
