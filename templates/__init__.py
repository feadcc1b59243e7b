"""Texts that the compiler fills in, as data."""
