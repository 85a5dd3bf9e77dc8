"""Large language models behind an endpoint: the client, the prompts, and reading replies."""
