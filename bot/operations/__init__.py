"""What an operator runs beside the bot."""
