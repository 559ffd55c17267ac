"""Who comes to an event: by their own word, from the waiting list, by an admin; and the role they get."""
