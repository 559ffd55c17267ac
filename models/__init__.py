"""The tables; imports none of them, so that ``models.states`` brings no ORM."""
