"""What pages made with gradio have in common: the look, and texts shown as texts."""
