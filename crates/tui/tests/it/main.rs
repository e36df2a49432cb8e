//! Behaviour seen from outside.

mod editor;
