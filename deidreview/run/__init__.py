"""`make run`: one light process that starts, watches and stops all the others. It never imports Django."""
