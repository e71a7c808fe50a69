"""From a log and a robot to base parameters: which they are, the regression, and what it leaves unexplained."""
