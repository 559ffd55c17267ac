"""The migrations of both databases, append-only."""
