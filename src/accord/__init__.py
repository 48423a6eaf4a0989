"""accord."""
