//! G8, the start: by how much an extension that never says hello delays the first prompt of the whole program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_packages::install::ExtensionStore;
use haft_packages::install::lock::ApprovalMethod;
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::json;

use super::figure::{SortedTimes, format_ms};
use super::{GoalContext, GoalFigure};
use crate::world::sibling_binary;

/// Pairs of starts.
const PAIRS: (usize, usize) = (3, 21);

/// Very first starts.
const FIRSTS: (usize, usize) = (1, 5);

/// Longer than any start.
const PATIENCE: Duration = Duration::from_secs(60);

/// In which what a killed program started is gone.
const REST: Duration = Duration::from_millis(150);

/// The delay that the silent one may add.
const DELAY: Duration = Duration::from_millis(50);

/// Limit for a busy machine. An extension that is waited for adds ten seconds.
const BUSY: Duration = Duration::from_secs(3);

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, Vec::new());
    let ((few, many), (some, more)) = (PAIRS, FIRSTS);
    let without = make_home(&place.dir.join("without"), &["good"])?;
    let with = make_home(&place.dir.join("with"), &["good", "silent"])?;
    // Once each for the caches; the second one is then known.
    first_request(&without, &server)?;
    first_request(&with, &server)?;
    let (mut quiet, mut silent) = (Vec::new(), Vec::new());
    for _ in 0..place.amount(few, many) {
        quiet.push(first_request(&without, &server)?);
        silent.push(first_request(&with, &server)?);
    }
    let firsts: Result<SortedTimes> = (0..place.amount(some, more))
        .map(|number| {
            first_request(
                &make_home(&place.dir.join(format!("first-{number}")), &["good", "silent"])?,
                &server,
            )
        })
        .collect();
    let (firsts, pairs) = (firsts?, quiet.len());
    let (quiet, silent): (SortedTimes, SortedTimes) =
        (quiet.into_iter().collect(), silent.into_iter().collect());
    let delay = silent.p50().saturating_sub(quiet.p50());
    let what = format!("added to the first request by one that never says hello, medians of {pairs} pairs");
    let both = format!("{} ({} → {})", format_ms(delay), format_ms(quiet.p50()), format_ms(silent.p50()));
    let first =
        format!("{} ({})", format_ms(firsts.p50().saturating_sub(quiet.p50())), format_ms(firsts.p50()));
    Ok(vec![
        GoalFigure::latency(what, both, "at most 50 ms", delay <= DELAY, delay <= BUSY),
        GoalFigure::note(format!("the same at its very first start, median of {}", firsts.count()), first),
    ])
}

/// A home with these extensions, which are `misbehave`.
fn make_home(dir: &Path, extensions: &[&str]) -> Result<PathBuf> {
    for name in extensions {
        let extension = dir.join("home/extensions").join(name);
        fs::create_dir_all(&extension).context("make an extension")?;
        let manifest = json!({"name": name, "exec": sibling_binary("misbehave"), "args": [name, name]});
        fs::write(extension.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        let store = ExtensionStore::for_home(&dir.join("home"), std::env::var_os("PATH"));
        store.propose_in_place(&extension)?.accept(ApprovalMethod::Yes, "faults")?;
    }
    fs::create_dir_all(dir.join("project")).context("make a project")?;
    Ok(dir.to_owned())
}

/// From the start of `haft` until the model gets a request. What comes then is of no interest, so it is killed.
fn first_request(dir: &Path, server: &ModelServer) -> Result<Duration> {
    let before = server.requests().len();
    server.push(Scenario::text("done"));
    #[expect(clippy::disallowed_methods, reason = "the program that is measured")]
    let mut command = Command::new(sibling_binary("haft"));
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HAFT_HOME", dir.join("home")).current_dir(dir.join("project"));
    command.args(["-p", "go", "--provider", "openai", "--model", "m", "--api-key", "k", "--base-url"]);
    command.arg(server.base_url()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().context("start haft; `cargo xtask faults` builds it")?;
    let came = server.wait_for_requests(before + 1, PATIENCE);
    let took = start.elapsed();
    // One that is gone already is what this wants.
    _ = child.kill();
    _ = child.wait();
    ensure!(came, "haft asked no model within {} s", PATIENCE.as_secs());
    // sleep: the next start must not feel this one
    std::thread::sleep(REST);
    Ok(took)
}
