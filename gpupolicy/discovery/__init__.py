"""A starter policy from nodes that are there: types by label, groups by label, profiles by configuration."""
