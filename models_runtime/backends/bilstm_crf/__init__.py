"""BiLSTM-CRF (Catelli 2021): with features and rules, with stacked embeddings, or both."""
