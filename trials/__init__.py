"""Plan, walk and record trials."""
