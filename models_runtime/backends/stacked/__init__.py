"""BiLSTM-CRF with stacked embeddings (Catelli 2021, section 3.2.1): no rules, no features of header lines."""
