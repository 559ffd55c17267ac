"""Direct messages: a bounded queue with a steady rate and a circuit breaker, and the fan-outs that fill it."""
