"""Arrays of other libraries. `make test-arrays` runs them in an environment with those libraries; elsewhere they are skipped."""
