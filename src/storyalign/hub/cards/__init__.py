"""Cards of datasets and models: text, front matter, and what may stand in them."""
