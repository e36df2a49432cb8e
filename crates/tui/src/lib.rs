//! The interactive mode of haft as a library: what is on the screen, and how it is drawn.
//!
//! For whom: the binary, which only starts it. All of it is pure: no IO, no terminal, no clock.
//!
//! Never in here: an extension that is started, a file that is read.

pub mod editor;
pub mod keys;
