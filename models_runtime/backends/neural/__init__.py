"""Code that the torch backends share: windows, batches, tags, devices, training. Only workers import it."""
