"""Nodes, pods and namespaces as they are: from a live cluster or from dumps; the few changes made; the way there."""
