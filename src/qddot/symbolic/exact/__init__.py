"""Numbers, letters and polynomials without rounding: what closed forms are made of."""
