"""What is due and when: the registry, the due rows and the agenda of the bodies."""
