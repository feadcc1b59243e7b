"""Policy tests: files that say what a policy has to answer, and whether it does."""
