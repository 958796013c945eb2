"""What trainers print on a terminal: a module per trainer, lines in, rows out."""
