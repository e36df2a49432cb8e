//! G8, the start: the delay of the first prompt by an extension that never sends `hello`.

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

/// The number of pairs of starts.
const PAIRS: (usize, usize) = (3, 21);

/// The number of very first starts.
const FIRSTS: (usize, usize) = (1, 5);

/// A time longer than any start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A time after which all processes of a killed program are gone.
const REST: Duration = Duration::from_millis(150);

/// The allowed delay by the silent extension.
const DELAY: Duration = Duration::from_millis(50);

/// Limit for a busy machine. If the program waited for the extension, the delay would be ten seconds.
const BUSY: Duration = Duration::from_secs(3);

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let server = ModelServer::spawn_thread(WireFormat::OpenAiChat, Vec::new());
    let ((few, many), (some, more)) = (PAIRS, FIRSTS);
    let without = make_home(&place.dir.join("without"), &["good"])?;
    let with = make_home(&place.dir.join("with"), &["good", "silent"])?;
    // The first start of each home fills the caches; the second one then knows the silent extension.
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
    let what = format!("delay of the first request by an extension without hello, medians of {pairs} pairs");
    let both = format!("{} ({} → {})", format_ms(delay), format_ms(quiet.p50()), format_ms(silent.p50()));
    let first =
        format!("{} ({})", format_ms(firsts.p50().saturating_sub(quiet.p50())), format_ms(firsts.p50()));
    Ok(vec![
        GoalFigure::latency(what, both, "at most 50 ms", delay <= DELAY, delay <= BUSY),
        GoalFigure::note(format!("the same at the very first start, median of {}", firsts.count()), first),
    ])
}

/// Creates a home with these extensions, which run `misbehave`.
fn make_home(dir: &Path, extensions: &[&str]) -> Result<PathBuf> {
    for name in extensions {
        let extension = dir.join("home/extensions").join(name);
        fs::create_dir_all(&extension).context("create an extension")?;
        let manifest = json!({"name": name, "exec": sibling_binary("misbehave"), "args": [name, name]});
        fs::write(extension.join("extension.json"), manifest.to_string()).context("write a manifest")?;
        let store = ExtensionStore::for_home(&dir.join("home"), std::env::var_os("PATH"));
        store.propose_in_place(&extension)?.accept(ApprovalMethod::Yes, "faults")?;
    }
    fs::create_dir_all(dir.join("project")).context("create a project")?;
    Ok(dir.to_owned())
}

/// Returns the time from the start of `haft` to the first request for the model, and kills it then.
fn first_request(dir: &Path, server: &ModelServer) -> Result<Duration> {
    let before = server.requests().len();
    server.push(Scenario::text("done"));
    #[expect(clippy::disallowed_methods, reason = "starts haft, not an extension")]
    let mut command = Command::new(sibling_binary("haft"));
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HAFT_HOME", dir.join("home")).current_dir(dir.join("project"));
    command.args(["-p", "go", "--provider", "openai", "--model", "m", "--api-key", "k", "--base-url"]);
    command.arg(server.base_url()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().context("start haft; `cargo xtask faults` builds it")?;
    let came = server.wait_for_requests(before + 1, PATIENCE);
    let took = start.elapsed();
    // The process may have ended already.
    _ = child.kill();
    _ = child.wait();
    ensure!(came, "haft sent no request within {} s", PATIENCE.as_secs());
    // sleep: this start must not affect the next one
    std::thread::sleep(REST);
    Ok(took)
}
