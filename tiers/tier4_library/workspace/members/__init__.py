"""Who may borrow. Knows nothing of what anybody borrows."""
