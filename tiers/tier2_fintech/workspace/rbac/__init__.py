"""Who may do what. Decides, and leaves the recording of decisions to its callers."""
