"""What already runs, judged by the one decision function and grouped by who can mend it."""
