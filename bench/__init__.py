"""The numbers that the toolkit holds itself to, measured beside bare containers: `make bench`."""
