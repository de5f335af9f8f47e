"""Every kernel equals its model, bit for bit."""
