"""What the tools share. A file whose name begins with an underscore is no tool."""

import re


def words(text):
    return re.findall(r"\w+", text.lower())
