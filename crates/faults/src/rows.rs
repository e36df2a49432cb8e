//! The rows by group: one file for each group, and one line in this list.

mod calls;
mod content;
mod files;
mod gates;
mod hooks;
mod ids;
mod install;
mod life;
mod models;
mod permissions;
mod pressure;
mod protocol;
#[cfg(target_os = "linux")]
mod sandbox;
mod services;
mod sessions;
mod trust;

use crate::row::FaultRow;
use content::{registration, results, terminal};
pub(crate) use files::{RACER, WRITER, run_racer, write_once};
#[cfg(target_os = "linux")]
pub(crate) use gates::call_steps;
use gates::{chains, failures, passing};
use life::{crashes, host_end, reloads, starts};
use pressure::{floods, loops, pipes, resources};
use protocol::{frames, hello, lines};
pub(crate) use services::{ASKER, run_asker};
pub(crate) use trust::hostile_runs;

const GROUPS: &[&[FaultRow]] = &[
    hello::ROWS,
    lines::ROWS,
    frames::ROWS,
    ids::ROWS,
    pipes::ROWS,
    floods::ROWS,
    resources::ROWS,
    loops::ROWS,
    crashes::ROWS,
    reloads::ROWS,
    host_end::ROWS,
    starts::ROWS,
    registration::ROWS,
    terminal::ROWS,
    results::ROWS,
    passing::ROWS,
    failures::ROWS,
    chains::ROWS,
    #[cfg(target_os = "linux")]
    sandbox::ROWS,
    sessions::ROWS,
    files::ROWS,
    services::ROWS,
    trust::ROWS,
    permissions::ROWS,
    trust::APPROVAL,
    trust::REQUIRED,
    trust::ATTEMPTS,
    install::ROWS,
    models::ROWS,
    calls::ROWS,
    hooks::gates::ROWS,
    hooks::pipes::ROWS,
    hooks::replies::ROWS,
];

/// Every row, in the order of the matrix.
pub(crate) fn all() -> impl Iterator<Item = &'static FaultRow> {
    GROUPS.iter().copied().flatten()
}
