"""One process of a run: its rank and peers, its clock, what it says and how it ends."""
