"""What the service signs and shows: receipts, the log of games, bundles; and who follows and judges them."""
