"""What backends made of torch share: windows, batches, tags, devices, model files. Only workers import it."""
