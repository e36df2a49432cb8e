//! Extensions in other languages.
