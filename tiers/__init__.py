"""Tasks and the arms they are tried in."""
