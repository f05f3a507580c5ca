"""BiLSTM-CRF (002): learns from scratch, on a CPU or a GPU, without weights from elsewhere."""
