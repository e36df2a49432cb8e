//! Where haft keeps its files.
