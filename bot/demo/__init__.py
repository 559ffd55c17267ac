"""The simulated Discord: demo and simulate; the only importer of simcord."""
