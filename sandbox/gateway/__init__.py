"""The model gateway: what an agent in a sandbox says to a model passes here, on the trusted side, where the keys are.

It speaks each provider's own wire format and passes everything on as it is, but for what a run has pinned.
It counts tokens, keeps budgets, writes the transcript, and can record all answers and play them back.
The doors: `gateway.Gateway`, `supply.open_supply`, `desk.Desk`.
"""
