//! Test support.

pub mod model_server;
