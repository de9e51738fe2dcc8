"""Clients that know nothing but the REST API, and check what they are told."""
