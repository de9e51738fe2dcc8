"""Who may ask: the REST API, live streams, accounts, workers and the command line."""
