//! Changes of running extensions from outside: session start, restart, ping and shutdown.

use std::path::Path;
use std::sync::Arc;

use haft_core::session::Session;
use haft_protocol::ext::{
    InterceptKind, InterceptSessionStart, LifecycleEvent, SessionShutdownReason, SessionStartReason,
};
use haft_protocol::ids::ExtensionName;
use tokio::time::timeout;

use super::Host;
use super::reload::{self, ReloadStats};
use crate::agent::wait_points::announce_shutdown;
use crate::supervision::slot::LifecycleStage;
use crate::wire::fault::{ExtensionFailure, FaultCode};

/// The reason why an extension does not run after a restart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestartError {
    /// No extension has this name.
    #[error("cannot restart extension {name}: no extension has this name")]
    Unknown {
        /// The name.
        name: ExtensionName,
    },
    /// The extension has no process: it only provides files, came as a pair of streams, or the host was shut
    /// down.
    #[error("cannot restart extension {name}: no program belongs to this extension")]
    NoProcess {
        /// The extension's name.
        name: ExtensionName,
    },
    /// The extension failed again; the failure was reported.
    #[error("extension {name} failed again: {message}")]
    Failed {
        /// The extension's name.
        name: ExtensionName,
        /// The code of the failure.
        code: FaultCode,
        /// The text of the failure.
        message: String,
    },
}

impl Host {
    /// Notifies the extensions that watch it of the session start, and of the session if there is one. All
    /// later queries and events belong to this session. The reason is `startup`;
    /// [`session_started`](Self::session_started) takes another one.
    pub fn session_start(&self, session: Option<&Session>) {
        match session {
            Some(session) => self.session_started(session, SessionStartReason::Startup, None),
            None => {
                let broadcaster = self.event_broadcaster(self.inner.active_extensions());
                broadcaster.broadcast_lifecycle(&LifecycleEvent::session_start());
            }
        }
    }

    /// Notifies the extensions of the session start like [`session_start`](Self::session_start), with its reason
    /// and the file of the session that was open before. The first prompt waits until the extensions that handle
    /// the start with the role `wait` have responded.
    pub fn session_started(&self, session: &Session, reason: SessionStartReason, previous: Option<&Path>) {
        let shared = &self.inner.shared;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let start = InterceptSessionStart {
            session_id: session.id().to_string(),
            session_path: session.path().as_deref().map(text),
            reason,
            previous_path: previous.map(text),
        };
        shared.pump.set_session(&start.session_id);
        shared.mirror.set_session(session);
        let entries = self.inner.active_extensions();
        for foreign in entries.iter().filter_map(|entry| entry.foreign.as_ref()) {
            foreign.peer.set_session(&start.session_id);
        }
        let broadcaster = self.event_broadcaster(entries.clone());
        broadcaster.broadcast_event(&session.event());
        broadcaster.broadcast_session_start(&start);
        shared.session_start.begin(start);
        for entry in entries.iter().filter(|entry| entry.is_ready_for(InterceptKind::SessionStart)) {
            let within = shared.timeouts.intercept_within(&entry.spec, InterceptKind::SessionStart);
            entry
                .handle()
                .iter()
                .for_each(|process| shared.session_start.ask_process(process, within, false));
        }
    }

    /// Waits until no extension is starting: each is ready or has failed.
    ///
    /// A start does not wait for slow extensions. Call this function when all tools or commands must be
    /// known.
    pub async fn wait_until_settled(&self) {
        self.inner.wait_until_settled().await;
    }

    /// Returns the extensions that intercept tool calls, but of none of these tools, with `true` for an
    /// extension whose manifest requires this hook. A misspelled name in `tools` of a subscription has
    /// this effect.
    pub fn gates_without_tool(&self, tools: &[String]) -> Vec<(ExtensionName, bool)> {
        let entries = self.inner.active_extensions();
        let idle = entries.iter().filter(|entry| entry.guards_no_tool(tools));
        idle.map(|entry| (entry.name().clone(), entry.spec.roles.requires_hook(InterceptKind::ToolCall)))
            .collect()
    }

    /// Restarts an extension in any state, and waits until it is ready. A running extension is stopped first.
    /// The crash history is cleared, so this also restarts an extension that crashed too often.
    ///
    /// ```no_run
    /// # async fn example(host: haft_host::Host) {
    /// use haft_host::ExtensionState;
    ///
    /// for status in host.statuses() {
    ///     if let ExtensionState::Failed { message, .. } = status.state {
    ///         println!("{} is down: {message}", status.name);
    ///         if let Err(error) = host.restart(&status.name).await {
    ///             println!("{error}");
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RestartError`] when there is no program to start, or the extension fails again.
    pub async fn restart(&self, name: &ExtensionName) -> Result<(), RestartError> {
        let _turn = self.inner.turnstile.lock().await;
        let entry =
            self.inner.find_extension(name).ok_or_else(|| RestartError::Unknown { name: name.clone() })?;
        if !entry.survives_reload {
            announce_shutdown(&[Arc::clone(&entry)], SessionShutdownReason::Reload).await;
        }
        if entry.survives_reload || !entry.restart().await {
            return Err(RestartError::NoProcess { name: name.clone() });
        }
        self.inner.completing.reset(Some(name));
        entry.wait_until_settled().await;
        match entry.stage() {
            LifecycleStage::Failed(ExtensionFailure { code, message })
            | LifecycleStage::Restarting(ExtensionFailure { code, message }) => {
                Err(RestartError::Failed { name: name.clone(), code, message })
            }
            LifecycleStage::Stopping | LifecycleStage::Stopped => {
                Err(RestartError::NoProcess { name: name.clone() })
            }
            LifecycleStage::Starting { .. }
            | LifecycleStage::Running
            | LifecycleStage::Idle
            | LifecycleStage::Files => {
                self.inner.activate_names(&[Arc::clone(&entry)]);
                Ok(())
            }
        }
    }

    /// Finds extensions again and starts them beside the running ones. An extension that becomes ready
    /// replaces the old one of its name. A failure is reported and the old one stays, also when its manifest
    /// can no longer be read. An extension that is no longer found is stopped. All extensions start
    /// immediately, so that the reload shows whether they work. Extensions behind streams stay unchanged.
    ///
    /// Old extensions answer queries until their replacements are active, and finish open queries within
    /// [`Timeouts::drain`](crate::Timeouts). After a shutdown, this function does nothing.
    pub async fn reload(&self) -> ReloadStats {
        reload::reload(&self.inner).await
    }

    /// Checks that the host works: waits until each extension's task has processed all earlier commands.
    /// Queries no extension, so none can block this call.
    pub async fn ping(&self) {
        let entries = self.inner.active_extensions();
        let pongs: Vec<_> = entries.iter().filter_map(|entry| entry.handle()).map(|one| one.ping()).collect();
        for pong in pongs {
            // A task that ends drops the sender, which also counts as an answer.
            _ = pong.await;
        }
    }

    /// Stops all extensions at the same time: each has a grace period, then receives a terminate signal, and
    /// then is killed. Earlier events are delivered first, also to an extension that an event has just
    /// started. Gates block permanently from now on. Other starting or waiting extensions are not waited for.
    pub async fn shutdown(&self) {
        self.shutdown_for(SessionShutdownReason::Quit).await;
    }

    /// Stops all extensions like [`shutdown`](Self::shutdown). Extensions that handle `session_shutdown` with
    /// the role `wait` get the reason first.
    pub async fn shutdown_for(&self, reason: SessionShutdownReason) {
        self.deliver_waiting_events().await;
        if !self.inner.shared.closing.is_cancelled() {
            announce_shutdown(&self.inner.active_extensions(), reason).await;
        }
        // The file of the session is free for others while the extensions still end.
        self.inner.shared.mirror.release_session();
        self.inner.shared.closing.cancel();
        let _turn = self.inner.turnstile.lock().await;
        let entries = self.inner.active_extensions();
        for entry in entries {
            entry.wait_until_gone().await;
        }
    }

    /// Waits a limited time for extensions that an event has started and that have not received it yet.
    async fn deliver_waiting_events(&self) {
        self.inner.shared.pump.distribute_events();
        let entries = self.inner.active_extensions();
        let waiting = entries.iter().filter(|entry| entry.has_backlog());
        let settled = async {
            for entry in waiting {
                // An error means that the shutdown has begun.
                _ = entry.ensure_started(&self.inner.shared.closing).await;
            }
        };
        let grace = self.inner.shared.config.timeouts.shutdown_grace;
        // An extension that is not ready by then does not receive the event, like a slow one.
        _ = timeout(grace, self.inner.shared.closing.run_until_cancelled(settled)).await;
    }
}
