"""One file per term: what it compares and when it is due. A new file is a new term."""

from trainer.contracts.discovery import discovered
from trainer.contracts.term import Term

FOUND: list[Term] = list(discovered(__name__, __path__, "TERM", lambda term: [term.name]))
TERMS: dict[str, Term] = {term.name: term for term in sorted(FOUND, key=lambda term: (term.order, term.name))}
