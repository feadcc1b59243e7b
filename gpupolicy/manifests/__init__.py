"""Manifests on disk: which files, which objects in them, what the policy says about each, and how to change them."""
