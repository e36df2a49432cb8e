//! Whole journeys: `haft` as somebody runs it, extensions as real processes, a model server on loopback.

mod chapter;
mod content;
mod context;
mod demo;
mod faults;
mod flags;
mod interception;
mod interrupt;
mod lazy;
mod login;
mod models;
mod order;
mod providers;
mod quick_start;
mod requests;
mod running;
mod scene;
mod secrets;
mod session;
mod session_commands;
mod session_compact;
mod session_files;
mod session_interrupted;
mod session_pick;
mod settings;
mod tools;
