"""The REST API: one blueprint's worth of routes a resource, their shapes, problems and description."""
