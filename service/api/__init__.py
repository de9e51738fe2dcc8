"""The REST API: a module of routes a resource; their shapes, problems and description."""
