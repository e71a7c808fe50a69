"""Every row of `docs/seeds.md` is executed: what the lecture notes teach, a command shows."""

from functools import cache

import pytest

from tests.textbook.seed_table import Row, documents, run

DOCUMENTS = {document.name: document for document in documents()}
ROWS = [row for document in DOCUMENTS.values() for row in document.rows]


@cache
def names(document: str) -> dict:
    found: dict = {}
    exec(DOCUMENTS[document].prelude, found)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place}: {row.what}"[:70])
def test_row(row: Row):
    run(row, names(row.document))


def test_the_table_holds_all_five_documents():
    assert len(DOCUMENTS) == 5
    assert len(ROWS) >= 184
    assert len({(row.document, row.command) for row in ROWS}) == len(ROWS), "a command stands twice"
