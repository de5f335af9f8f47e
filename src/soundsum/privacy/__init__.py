"""Privacy guarantees, and the noise that provides them."""
