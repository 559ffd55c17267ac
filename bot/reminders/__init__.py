"""From what is due to a message: fire, dispatch, tasks, content, and the upkeep of posts."""
