"""New surrogates by rules: people, places, accounts and other values, from words that are free."""
