"""Small versions of the tests that say by how much, in place of whether."""
