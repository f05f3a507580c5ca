"""`make run`: a small supervisor process that starts, watches and stops all the others. It never imports Django."""
