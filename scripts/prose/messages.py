"""Prints the messages of the errors that the trainer raises: path, line and text, as JSON."""

import ast
import json
import sys


def text_of(node):
    """A placeholder counts as one word; texts joined by `+` are one text, and so are neighbouring ones to the parser."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "value" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [text_of(node.left), text_of(node.right)]
        return None if sides == [None, None] else "".join("value" if side is None else side for side in sides)
    return None


messages = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            texts = [text_of(argument) for argument in node.exc.args]
            messages += [{"path": path, "line": node.lineno, "text": text} for text in texts if text]
json.dump(messages, sys.stdout)
