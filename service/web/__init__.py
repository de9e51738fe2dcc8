"""The pages: a client of the public API like any other, served beside it."""
