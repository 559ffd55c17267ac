"""One file per surface or loop group: Discord on one side, one call of a service on the other."""
