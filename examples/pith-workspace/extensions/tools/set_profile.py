from typing import Dict, Literal

from _memory import opened


def run(who: Literal["agent", "user"], about: Dict[str, str]) -> dict:
    """Keep what the person said about themselves, or about who the agent is to be.

    Args:
        who: whose profile
        about: fields and their values, such as {"name": "Ada"}; an empty value takes a field away
    """
    with opened() as base:
        for field, value in about.items():
            base.execute("DELETE FROM profiles WHERE who = ? AND field = ?", (who, field))
            if value.strip():
                base.execute("INSERT INTO profiles VALUES (?, ?, ?)", (who, field, value))
        return dict(base.execute("SELECT field, value FROM profiles WHERE who = ? ORDER BY field", (who,)))
