"""Out of the house: freight weight, carriers, departures, manifests."""
