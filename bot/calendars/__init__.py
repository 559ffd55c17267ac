"""Calendar files and tables of a server's series and events: what comes in, and what goes out."""
