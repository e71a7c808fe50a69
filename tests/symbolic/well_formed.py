"""What must be true of any LaTeX: braces and environments match, and nothing stands in it that is not escaped."""

from __future__ import annotations


def assert_well_formed(latex: str) -> None:
    """Braces, \\left and \\right, and environments are closed in the order in which they were opened."""
    open_: list[str] = []
    closing = {"}": "{", r"\right": r"\left"}
    for token in latex_tokens(latex):
        if token in ("{", r"\left"):
            open_.append(token)
        elif token in closing:
            assert open_, latex
            assert open_.pop() == closing[token], latex
    assert not open_, latex
    assert latex.count(r"\begin{bmatrix}") == latex.count(r"\end{bmatrix}")


def latex_tokens(latex: str) -> list[str]:
    tokens, i = [], 0
    while i < len(latex):
        if latex[i] == "\\":
            j = i + 1
            while j < len(latex) and latex[j].isalpha():
                j += 1
            j = max(j, i + 2)
            tokens.append(latex[i:j])
            i = j
        else:
            tokens.append(latex[i])
            i += 1
    return tokens
