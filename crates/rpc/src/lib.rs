//! Agent events as lines of JSON.
