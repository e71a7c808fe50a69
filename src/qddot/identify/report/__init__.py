"""Tables and plots of a fit, and a report as HTML, PDF or Markdown."""
