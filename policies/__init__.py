"""The policies that ship with gpupolicy, as data."""
