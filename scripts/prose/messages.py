"""Prints every text in Python files that is no docstring: path, line and text, as JSON."""

import ast
import json
import sys


def text_of(node):
    """A placeholder counts as one word; texts joined by `+` are one text, as neighbouring ones are to the parser."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "value" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [text_of(node.left), text_of(node.right)]
        return None if sides == [None, None] else "".join("value" if side is None else side for side in sides)
    return None


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def texts_below(node):
    text = text_of(node)
    if text is not None:
        yield node.lineno, text
    for child in [] if is_docstring(node) else children_of(node):
        yield from texts_below(child)


def children_of(node):
    """Without the texts that its own text contains."""
    if text_of(node) is None:
        return list(ast.iter_child_nodes(node))
    if isinstance(node, ast.BinOp):
        return [child for side in (node.left, node.right) for child in in_term(side)]
    return [part.value for part in getattr(node, "values", []) if isinstance(part, ast.FormattedValue)]


def in_term(node):
    return [node] if text_of(node) is None else children_of(node)


messages = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    messages += [{"path": path, "line": line, "text": text} for line, text in texts_below(tree)]
json.dump(messages, sys.stdout)
