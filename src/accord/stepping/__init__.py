"""A session walked through by hand: what may happen, what an action needs, what came of it. For every shell."""
