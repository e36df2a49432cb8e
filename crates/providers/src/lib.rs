//! Models over HTTP.
