"""The paper, checked and reproduced: every bound on tiny types, every experiment, and the page that shows them."""
