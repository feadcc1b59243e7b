"""What room nodes have: slots, free GPUs, what is stranded and why. Pure: takes nodes and pods, returns values."""
