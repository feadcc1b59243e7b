"""CEL as match conditions have it: read into a tree, its names checked, worked out as far as can be."""
