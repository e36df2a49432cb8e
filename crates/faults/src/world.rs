//! The world of one case: a fresh home, a host, a canary, whoever misbehaves, and what is asked of them.

mod ask;
mod events;
mod expect;
mod home;
mod program;
mod setup;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use haft_host::{ExtensionState, Found, Frontend, Headless, Host, HostConfig};

use crate::canary::{Canary, Control, Trip};
use crate::oracle::Growth;
use crate::row::Faults;
pub(crate) use ask::{Tally, last_word};
pub(crate) use events::Events;
pub(crate) use home::{Home, Shown};
pub(crate) use program::Program;
pub(crate) use setup::{FATAL_TITLE, Mode, Screen, Setup};

/// The longest wait for anything that must happen. Nobody waits that long while all is well, so a busy machine fails no
/// row. Deadlines that must not pass are three times longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The same when the defences are down and it is not expected to happen.
const LITTLE_PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// Round trips of the canary in which something that must not happen would have happened.
const SURPLUS: usize = 12;

/// See the module.
pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) mode: Mode,
    /// Frames, events and logs of the case lie here.
    pub(crate) dir: PathBuf,
    pub(crate) tag: String,
    pub(crate) events: Events,
    /// What the next reload finds.
    found: Arc<Mutex<Found>>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) canary: Canary,
    pub(crate) tally: Tally,
    /// Faults that are expected beside those of the case, because their number is known only now.
    pub(crate) also: Vec<(String, &'static str)>,
    /// How long the host took to start.
    pub(crate) started_in: Duration,
    control: Arc<Control>,
    /// What the host was started with.
    config: HostConfig,
    expect: Faults,
}

impl World {
    /// Starts the host and everybody in it.
    pub(crate) async fn start(setup: Setup, expect: Faults, control: Arc<Control>) -> Self {
        let (events, start) = (Events::default(), Instant::now());
        let Setup { config, specs, mode, dir, tag, screen, headless } = setup;
        let frontend: Arc<dyn Frontend> = if headless { Arc::new(Headless) } else { screen.clone() };
        let host = Host::builder(config.clone()).events(events.sink()).frontend(frontend);
        let found = Arc::new(Mutex::new(Found::from(specs)));
        let source = Arc::clone(&found);
        let host = host.source(move || source.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let host = host.start().await;
        let started_in = start.elapsed();
        let canary = Canary::watch(host.clone());
        Self {
            host,
            mode,
            dir,
            tag,
            events,
            found,
            screen,
            canary,
            tally: Tally::default(),
            started_in,
            control,
            config,
            expect,
            also: Vec::new(),
        }
    }

    /// Starts a second host with the same home, the same extensions and this change, ends it again, and returns the time of
    /// the start.
    pub(crate) async fn start_again(&self, change: impl FnOnce(&mut HostConfig)) -> Duration {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut config = self.config.clone();
        change(&mut config);
        let start = Instant::now();
        let host = Host::builder(config).source(move || found.clone()).start().await;
        let took = start.elapsed();
        host.shutdown().await;
        took
    }

    /// Changes what the next reload finds.
    pub(crate) fn find(&self, change: impl FnOnce(&mut Found)) {
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How often or how much, depending on how thorough the run is.
    pub(crate) fn amount<T>(&self, reduced: T, full: T) -> T {
        if self.mode.full { full } else { reduced }
    }

    /// Waits until all expected faults are reported or, when none is expected, until the fault has happened. Then
    /// waits a little longer for faults too many.
    pub(crate) async fn until_expected(&self) -> Result<()> {
        if self.expect.is_empty() {
            self.until("the fault happens", || !self.marks().is_empty()).await?;
        } else {
            let all = self.expect.len();
            self.until("every expected fault is reported", || self.events.faults().len() >= all).await?;
        }
        self.trips(SURPLUS).await
    }

    /// Waits until the canary was called so many times more.
    pub(crate) async fn trips(&self, more: usize) -> Result<()> {
        let enough = self.canary.count() + more;
        self.until("the canary is called again", || self.canary.count() >= enough).await
    }

    /// Waits until a fault of this code is reported, and returns its message.
    pub(crate) async fn until_fault(&self, code: &str) -> Result<String> {
        let find = || self.events.faults().into_iter().find(|fault| fault.code == code);
        self.until(&format!("{code} is reported"), || find().is_some()).await?;
        Ok(find().map(|fault| fault.message).unwrap_or_default())
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn() -> bool) -> Result<()> {
        let start = Instant::now();
        let patience = self.patience();
        while !holds() {
            if start.elapsed() > patience {
                bail!("waited {} s in vain until {what}", patience.as_secs());
            }
            // sleep: between two looks
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// The longest wait for anything that must happen.
    pub(crate) fn patience(&self) -> Duration {
        if self.mode.undefended { LITTLE_PATIENCE } else { PATIENCE }
    }

    /// Waits for something that must end.
    pub(crate) async fn in_time<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T> {
        let patience = self.patience();
        let done = tokio::time::timeout(patience, work).await;
        done.with_context(|| format!("{what} takes longer than {} s", patience.as_secs()))
    }

    /// Fails if something took so long that it has waited for a deadline.
    pub(crate) fn at_once(&self, what: &str, took: Duration) -> Result<()> {
        ensure!(took < self.patience(), "{what} took {took:?}");
        Ok(())
    }

    /// Waits until `rounds` further ones have added less than `each` bytes per round to the heap: other threads may still
    /// hold what they are about to free.
    pub(crate) async fn until_freed(&self, growth: &Growth, rounds: u64, each: u64) -> Result<()> {
        let is_freed = || growth.check(rounds, each).is_ok();
        match self.until("the heap is small again", is_freed).await {
            Ok(()) => Ok(()),
            Err(_) => growth.check(rounds, each),
        }
    }

    /// Lets extensions go on that wait for it (`Peer::until_released`).
    pub(crate) fn release(&self) -> Result<()> {
        fs::write(self.dir.join("release"), "").context("release the extensions that wait")
    }

    /// What extensions marked, in order. Those of the canary are not among them.
    pub(crate) fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join("marker")).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with("event "));
        lines.map(str::to_owned).collect()
    }

    /// Marks that a fault happened, for faults that the case itself makes.
    pub(crate) fn mark(&self, what: &str) -> Result<()> {
        use std::io::Write;
        let path = self.dir.join("marker");
        let mut file =
            fs::OpenOptions::new().create(true).append(true).open(path).context("open the marker")?;
        writeln!(file, "{what}").context("write the marker")
    }

    /// Says what a row found when it passes.
    pub(crate) fn found(&self, what: &str) {
        println!("{}{what}", crate::runner::FOUND);
    }

    /// The log of an extension.
    pub(crate) fn log_of(&self, name: &str) -> String {
        let path = haft_host::log_path(&self.dir.join("logs"), &haft_protocol::ids::ExtensionName::new(name));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// Something of the canary's round trips so far, and of those without a fault in the same time.
    pub(crate) fn medians(&self, of: fn(&[Trip]) -> Duration) -> Result<(Duration, Duration)> {
        let trips = self.canary.trips();
        Ok((of(&trips), of(&self.control.beside(&trips)?)))
    }

    /// How an extension is.
    pub(crate) fn state(&self, name: &str) -> Result<ExtensionState> {
        let mut states = self.host.states().into_iter();
        let found = states.find(|status| status.name.as_str() == name);
        Ok(found.with_context(|| format!("the host knows no extension {name}"))?.state)
    }
}

/// A program that was built beside this one; `cargo xtask faults` builds them all.
pub(crate) fn beside(name: &str) -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    binary.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
