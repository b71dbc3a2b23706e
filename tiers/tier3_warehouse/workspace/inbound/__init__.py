"""From the truck to the shelf: notices, receiving, docks, putaway."""
