"""Edits that lower one dimension of a story without a language model, one file per dimension."""
