"""What people read and see of a fit: tables, plots, and one report as HTML, PDF or Markdown."""
