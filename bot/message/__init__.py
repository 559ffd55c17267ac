"""What a message is made with, without Discord."""
