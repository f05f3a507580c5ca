"""Gold versions: statistics, differences, splits by patient."""
