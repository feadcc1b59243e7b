"""Nodes, pods and namespaces as they are: from a live cluster or from dumps; and the few changes made to nodes."""
