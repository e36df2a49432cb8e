//! Choosing a provider.
