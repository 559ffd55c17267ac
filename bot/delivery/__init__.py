"""The hands that reach Discord: post, read history, and say what its answers mean."""
