"""Faults under load: a real service, many clients, and whatever may break, one after the other."""
