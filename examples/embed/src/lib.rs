//! Embedding.
