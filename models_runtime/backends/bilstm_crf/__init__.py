"""BiLSTM-CRF (Catelli 2021): trained from scratch, on a CPU or a GPU, without other weights."""
