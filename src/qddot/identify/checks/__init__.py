"""Whether a fit can be trusted: what speaks against it, what else would explain the log, and the verdict."""
