"""What goes to the Hub: dataset folders, cards, releases."""
