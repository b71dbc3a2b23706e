"""Double-entry bookkeeping: accounts, postings, periods. The bottom of the house."""
