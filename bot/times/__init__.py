"""When a series returns, and what people type for a day, a time or a zone: no row, no loop, no guess."""
