"""What an admin changes about events and series that are there: shown first, then done exactly so or refused."""
