"""What people type for a day, a time or a zone, and what it means: no row, no loop, no guess."""
