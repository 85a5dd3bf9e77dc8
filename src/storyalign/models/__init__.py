"""What scoring and training share: loading, chat rendering, packed forward, batch planning."""
