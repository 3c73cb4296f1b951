"""One file per term: its weight, what it compares and when it is due. A new file is a new term."""

import importlib
import pkgutil
from collections.abc import Iterator

from trainer.losses.terms.term import Term


def _found() -> Iterator[Term]:
    for module in pkgutil.iter_modules(__path__):
        if module.name != "term":
            yield importlib.import_module(f"{__name__}.{module.name}").TERM


TERMS: dict[str, Term] = {
    term.name: term for term in sorted(_found(), key=lambda term: (term.order, term.name))
}
