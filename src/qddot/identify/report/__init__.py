"""A fit as people read and see it: tables, plots, and one report as HTML, PDF or Markdown."""
