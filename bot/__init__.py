"""Tocsin: one package per concern, Discord only at the rim; see ARCHITECTURE.md."""
