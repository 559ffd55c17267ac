"""Series, the events made of them, the states they go through, and what people want to hear of them."""
