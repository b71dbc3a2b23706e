"""What lies where: locations, stock, lots, counting, replenishment."""
