"""Write the ledger anew: ``python -m tests.ledger.update [FAMILY...]``.

Reasons stay where they are needed.  Exit status 1 if one is missing, or the law of the best plan
does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.ledger.ledger import ROWS, page, page_of, read, written
from tests.ledger.shapes import FAMILIES
from tests.ledger.test_ledger import complaints


def update(names: Sequence[str]) -> int:
    """Write the files of some families, or of all; returns the exit status."""
    wrong = 0
    ROWS.mkdir(exist_ok=True)
    for family in FAMILIES:
        if names and family.stem not in names:
            continue
        path = page_of(family)
        before = read(path)
        found = page(family, before.reasons)
        path.write_text(written(found))
        for entry in before.reasons.keys() - found.reasons.keys():
            print(f"{path.name}: dropped: {entry}: {before.reasons[entry]}")
        for complaint in complaints(found):
            wrong = 1
            print(f"{path.name}: {complaint}")
    return wrong


if __name__ == "__main__":
    sys.exit(update(sys.argv[1:]))
