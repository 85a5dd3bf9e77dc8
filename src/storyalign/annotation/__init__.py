"""People judge stories: the app, its store, the rules for verdicts, and how far annotators agree (Appendix C)."""
