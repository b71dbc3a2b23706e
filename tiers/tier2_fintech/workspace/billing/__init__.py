"""What customers owe: plans, proration, tax, invoices."""
