"""From reports to text: one module for each output format. Decides nothing, reads nothing, writes nothing."""
