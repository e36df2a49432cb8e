//! Write a haft extension.
