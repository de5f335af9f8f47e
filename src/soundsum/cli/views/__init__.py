"""Results as terminals show them."""
