"""One file per term: its weight, what it compares and when it is due. A new file is a new term."""

from trainer.losses.terms.term import Term
from trainer.members import members

FOUND: list[Term] = list(members(__name__, __path__, "TERM", lambda term: [term.name]))
TERMS: dict[str, Term] = {term.name: term for term in sorted(FOUND, key=lambda term: (term.order, term.name))}
