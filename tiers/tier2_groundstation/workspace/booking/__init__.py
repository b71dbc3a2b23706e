"""Who wants a contact, who comes first, and the plan that follows."""
