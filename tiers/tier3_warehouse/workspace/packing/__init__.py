"""Into the box: cartons, weighing, labels."""
