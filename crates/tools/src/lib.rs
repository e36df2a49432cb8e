//! The built-in tools: read, write, edit, bash, grep, find, ls; and skill, where there are skills.
//!
//! For whom: the binary and programs that embed an agent. The promise: no tool blocks the agent's thread, no tool
//! leaves a half-written file or an unkillable process behind, no result is longer than core's limits. Everything
//! reaches files and processes through [`Environment`], which an embedder can replace. Never in here: anything
//! about extensions, the terminal, approval: gates are core's hooks.

mod bash;
mod builtin;
mod diff;
mod edit;
mod environment;
mod find;
mod grep;
mod list;
mod ls;
mod path;
mod read;
mod results;
mod seen;
mod skill;
mod timeouts;
mod write;

pub use environment::{
    ClaimedFile, DirectoryEntry, Environment, EnvironmentError, FileAccessRules, FileKey, FileKind, FileStat,
    FileWriteOutcome, FindHit, FindHits, FindQuery, FullOutput, GrepHits, GrepLine, GrepQuery, GrepText,
    HostEnvironment, InPlaceReason, ParentPolicy, RunEnd, RunReport, ShellCommand,
};
pub use list::{NAMES, ServiceTools, builtin_tools, service_tools};
pub use results::clear_results;
pub use skill::{SkillSource, skill_tool};
