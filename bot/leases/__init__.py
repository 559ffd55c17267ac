"""Each message once: claim, send, finalize, reconcile, sweep."""
