"""Series, the events made of them, and the states they go through."""
