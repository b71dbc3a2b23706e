"""What customers are told, and how."""
