//! The setup of a case before its host starts.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use haft_core::model::ModelId;
use haft_host::{FailingGate, Frontend, GateChoice, HostConfig, Timeouts};
use haft_launch::Launcher;
use haft_packages::{ExtensionDialect, ExtensionOrigin, ExtensionSpec, GuardRoles, LaunchPlan};
use haft_protocol::ext::{AskAnswer, AskCall, AskEnd, Panel, PanelRender};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio_util::sync::CancellationToken;

use super::{EVIL, sibling_binary};

/// A deadline that must not pass, even on a busy machine: several times the limit for "at once".
const LONG: Duration = Duration::from_secs(180);

/// Drawing a panel with this title panics.
pub(crate) const FATAL_TITLE: &str = "fatal";

/// The depth of a run, and the state of the defenses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunMode {
    pub(crate) full: bool,
    pub(crate) undefended: bool,
}

impl RunMode {
    /// Returns the options of this program for the mode.
    pub(crate) fn flags(self) -> Vec<String> {
        let flags = [(self.full, "--full"), (self.undefended, "--undefended")];
        flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.to_owned()).collect()
    }
}

/// The setup of a world.
pub(crate) struct WorldSetup {
    pub(crate) config: HostConfig,
    /// The extensions; the canary is first.
    pub(crate) specs: Vec<ExtensionSpec>,
    pub(crate) mode: RunMode,
    pub(crate) dir: PathBuf,
    pub(crate) tag: String,
    pub(crate) screen: Arc<RecordingFrontend>,
    /// True for a run without a user interface.
    pub(crate) headless: bool,
}

impl WorldSetup {
    /// Creates a home with a canary below `dir`.
    pub(crate) fn new(mode: RunMode, tag: &str, dir: PathBuf) -> Result<Self> {
        fs::create_dir_all(dir.join("work")).with_context(|| format!("create {}", dir.display()))?;
        let model = ModelId { provider: "scripted".into(), model: "faults".into() };
        let mut config = HostConfig::new("0.0.0", model, dir.join("work"));
        config.logs = Some(dir.join("logs"));
        config.data = Some(dir.join("data"));
        config.state = Some(dir.join("state"));
        config.reserved_tools = super::ask::BUILT_IN.iter().map(|&name| name.to_owned()).collect();
        config.timeouts = patient_timeouts();
        config.launcher = Some(Launcher { program: sibling_binary("haft-launcher"), args: Vec::new() });
        let screen = Arc::default();
        let mut setup =
            Self { config, specs: Vec::new(), mode, dir, tag: tag.to_owned(), screen, headless: false };
        setup.set_env("HAFT_FAULT_TAG", tag);
        setup.set_env("HAFT_MARKER", setup.dir.join("marker").display().to_string());
        setup.set_env("HAFT_TRANSCRIPT", setup.dir.display().to_string());
        setup.add(misbehaving_spec(&setup, "canary", "canary"));
        Ok(setup)
    }

    /// Adds an extension after the existing ones.
    pub(crate) fn add(&mut self, spec: ExtensionSpec) {
        self.specs.push(spec);
    }

    /// Sets the deadline for `hello` of the misbehaving extension; the canary gets enough time.
    pub(crate) fn hello_within(&mut self, time: Duration) {
        let evil = self.specs.iter_mut().filter(|spec| spec.name.as_str() == EVIL);
        evil.for_each(|spec| spec.lifecycle.hello = Some(time));
    }

    /// Makes the start wait for silent extensions as long as in the product.
    pub(crate) fn start_impatiently(&mut self) {
        self.config.timeouts.start_patience = Timeouts::default().start_patience;
    }

    /// Sets a variable for all extensions.
    pub(crate) fn set_env(&mut self, name: &str, value: impl Into<String>) {
        self.config.env.set.push((name.to_owned(), value.into()));
    }
}

/// Describes `misbehave` with one fault under this name.
pub(crate) fn misbehaving_spec(setup: &WorldSetup, fault: &str, name: &str) -> ExtensionSpec {
    let args = vec![fault.to_owned(), name.to_owned()];
    extension_spec(setup, name, sibling_binary("misbehave"), args)
}

/// Describes an extension that runs this program.
pub(crate) fn extension_spec(
    setup: &WorldSetup,
    name: &str,
    program: PathBuf,
    args: Vec<String>,
) -> ExtensionSpec {
    ExtensionSpec {
        name: ExtensionName::new(name),
        version: None,
        dir: setup.dir.clone(),
        launch: LaunchPlan::Process { program, args },
        dialect: ExtensionDialect::Native,
        origin: ExtensionOrigin::Global,
        roles: GuardRoles::default(),
        permissions: None,
        level: None,
        description: None,
        lifecycle: haft_packages::Lifecycle::default(),
        pin: None,
    }
}

/// Returns deadlines that do not pass unless the case shortens them. The start waits until every extension is ready or
/// has failed.
fn patient_timeouts() -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.start_patience = LONG;
    timeouts.pong = LONG;
    timeouts.hello = LONG;
    timeouts.awaited_hello = LONG;
    timeouts.ready = LONG;
    timeouts.intercept = LONG;
    timeouts.tool_call = LONG;
    timeouts.command = LONG;
    // A crashed extension is not restarted during a row, unless the row tests that.
    timeouts.restarts = haft_host::RestartTiming::default();
    timeouts.restarts.first_pause = Duration::from_secs(600);
    timeouts
}

/// A front end that records its drawings. It has a fault as well: it panics on a panel with [`FATAL_TITLE`].
#[derive(Default)]
pub(crate) struct RecordingFrontend {
    notes: Mutex<Vec<String>>,
    /// The person's decision about a gate that keeps failing; stops if none is set.
    choice: Mutex<Option<GateChoice>>,
}

impl RecordingFrontend {
    /// Returns the drawings, in order.
    pub(crate) fn drawings(&self) -> Vec<String> {
        lock(&self.notes).clone()
    }

    /// Sets the answer to questions about a gate.
    pub(crate) fn answer(&self, choice: GateChoice) {
        *lock(&self.choice) = Some(choice);
    }

    /// Returns the number of questions about a gate.
    pub(crate) fn gate_questions(&self) -> usize {
        self.drawings().iter().filter(|note| note.contains("keeps failing")).count()
    }

    fn note(&self, text: String) {
        lock(&self.notes).push(text);
    }
}

#[async_trait::async_trait]
impl Frontend for RecordingFrontend {
    fn open_panel(&self, extension: &ExtensionName, panel: &Panel) {
        self.note(format!("{extension} opens {panel:?}"));
    }

    fn render_panel(&self, extension: &ExtensionName, panel: &PanelRender) {
        assert!(panel.title != FATAL_TITLE, "the front end cannot draw this");
        self.note(format!("{extension} draws {panel:?}"));
    }

    fn close_panel(&self, extension: &ExtensionName, panel: &PanelId) {
        self.note(format!("{extension} closes {panel}"));
    }

    fn insert(&self, extension: &ExtensionName, text: &str) {
        self.note(format!("{extension} inserts {text:?}"));
    }

    /// Shows the question until it is withdrawn: this person never answers.
    async fn ask(&self, cancel: &CancellationToken, extension: &ExtensionName, ask: &AskCall) -> AskAnswer {
        self.note(format!("{extension} asks {}", ask.kind()));
        // The host drops the future of a withdrawn question.
        let _shown = ShownQuestion { screen: self, extension };
        cancel.cancelled().await;
        ask.without_answer(AskEnd::Cancelled)
    }

    async fn ask_about_failing_gate(&self, _: &CancellationToken, failing: &FailingGate) -> GateChoice {
        self.note(format!(
            "{} keeps failing, {} times: {}",
            failing.extension, failing.failures, failing.reason
        ));
        lock(&self.choice).unwrap_or(GateChoice::Stop)
    }

    fn extension_gone(&self, extension: &ExtensionName) {
        self.note(format!("{extension} is gone"));
    }
}

/// A question on the screen; dropping it withdraws the question.
struct ShownQuestion<'a> {
    screen: &'a RecordingFrontend,
    extension: &'a ExtensionName,
}

impl Drop for ShownQuestion<'_> {
    fn drop(&mut self) {
        self.screen.note(format!("{} no longer asks", self.extension));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
