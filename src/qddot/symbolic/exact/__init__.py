"""Numbers, letters and polynomials without rounding, of which closed forms consist."""
