//! The built-in tools: read, write, edit, bash, job, grep, find, ls; and skill, if there are skills.
//!
//! Used by the binary and by programs that embed an agent. No tool blocks the agent's thread, leaves a partly written
//! file or an unkillable process behind, or returns a result longer than core's limits. Tools access files and
//! processes only through [`Environment`], which an embedder can replace. This crate contains nothing about
//! extensions, the terminal or approval: gates are core's hooks.

mod approval;
mod bash;
mod builtin;
mod diff;
mod edit;
mod environment;
mod failure;
mod find;
mod grep;
mod job;
mod limits;
mod list;
mod ls;
mod mentions;
mod path;
mod read;
mod read_tracker;
mod results;
mod skill;
mod timeouts;
mod write;

pub use environment::{
    AccessKind, ClaimedFile, DirectoryEntry, Environment, EnvironmentError, FileAccessRules, FileKey,
    FileKind, FileStat, FileWriteOutcome, FindHit, FindHits, FindQuery, FullOutput, GrepHits, GrepLine,
    GrepQuery, GrepText, HostEnvironment, InPlaceReason, ParentPolicy, ResolvedPlace, RunEnd, RunReport,
    ShellCommand, ToolSandbox, ToolSandboxGap, walk_tree,
};
pub use list::{NAMES, ServiceTools, builtin_tools, service_tools};
pub use mentions::FileMentions;
pub use results::clear_results;
pub use skill::{SkillSource, skill_tool};
