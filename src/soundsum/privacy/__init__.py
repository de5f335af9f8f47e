"""What is promised to whom, and the noise that keeps it."""
