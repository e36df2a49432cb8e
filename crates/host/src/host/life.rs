//! Changes of running extensions from outside: the session's beginning, restart, ping, the end.

use std::sync::Arc;

use haft_core::session::Session;
use haft_protocol::ext::LifecycleEvent;
use haft_protocol::ids::ExtensionName;
use tokio::time::timeout;

use super::Host;
use super::reload::{self, ReloadStats};
use crate::session::offers::EventTopic;
use crate::supervision::slot::LifecycleStage;
use crate::wire::fault::{ExtensionFailure, FaultCode};

/// An extension does not run after a restart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestartError {
    /// There is none of this name.
    #[error("there is no extension {name} to restart")]
    Unknown {
        /// The name.
        name: ExtensionName,
    },
    /// It has no process: it only brings files, came as a pair of streams, or the host has been shut down.
    #[error("extension {name} has no process that could be started again")]
    NoProcess {
        /// Its name.
        name: ExtensionName,
    },
    /// It failed again; that was reported.
    #[error("extension {name} failed again: it {message}")]
    Failed {
        /// Its name.
        name: ExtensionName,
        /// The failure.
        code: FaultCode,
        /// The failure.
        message: String,
    },
}

impl Host {
    /// Tells the extensions that watch it that the session begins, and which one it is, if there is one. What process
    /// hooks are asked and told is of that session from here on.
    pub fn session_start(&self, session: Option<&Session>) {
        if let Some(session) = session {
            self.inner.turns.set_session(session.id().to_string());
        }
        let topic = EventTopic { name: "session_start", tool: None };
        let entries = self.inner.extensions();
        self.event_broadcaster(entries).broadcast(topic, || {
            let path = |session: &Session| Some(session.path()?.to_string_lossy().into_owned());
            let known =
                |session: &Session| LifecycleEvent::session_start_of(session.id().to_string(), path(session));
            Some(session.map_or_else(LifecycleEvent::session_start, known))
        });
    }

    /// Waits until no extension is starting: each is ready, or has failed.
    ///
    /// A start does not wait for slow ones; whoever needs to know all tools or commands does it here.
    pub async fn wait_until_settled(&self) {
        self.inner.wait_until_settled().await;
    }

    /// Starts an extension anew, whatever state it is in, and waits until it is ready. It is stopped first if it runs;
    /// earlier crashes are forgotten, so this is also the way back for one that crashed too often.
    ///
    /// ```no_run
    /// # async fn example(host: haft_host::Host) {
    /// use haft_host::ExtensionState;
    ///
    /// for status in host.states() {
    ///     if let ExtensionState::Failed { message, .. } = status.state {
    ///         println!("{} is down: it {message}", status.name);
    ///         if let Err(error) = host.restart(&status.name).await {
    ///             println!("{error}");
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RestartError`] when there is nothing to start, or it fails again.
    pub async fn restart(&self, name: &ExtensionName) -> Result<(), RestartError> {
        let _turn = self.inner.turnstile.lock().await;
        let entry =
            self.inner.find_extension(name).ok_or_else(|| RestartError::Unknown { name: name.clone() })?;
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
                self.inner.announce(&[Arc::clone(&entry)]);
                Ok(())
            }
        }
    }

    /// Looks for extensions again and starts what is found, beside what runs. One that becomes ready takes the place of
    /// the old one of its name; one that does not is reported, and the old one stays, as it does when its manifest
    /// cannot be read any more. One that is not found is stopped. All are started at once: whoever reloads wants to know
    /// that they work. Extensions that came as streams stay as they are.
    ///
    /// Old ones answer questions until new ones are in their place, and finish what they were asked within
    /// [`Timeouts::drain`](crate::Timeouts). After a shutdown nothing happens.
    pub async fn reload(&self) -> ReloadStats {
        reload::reload(&self.inner).await
    }

    /// Proves that the host works: each extension's task has taken all that was sent to it before. No extension is
    /// asked anything, so none can hold this up.
    pub async fn ping(&self) {
        let entries = self.inner.extensions();
        let pongs: Vec<_> = entries.iter().filter_map(|entry| entry.handle()).map(|one| one.ping()).collect();
        for pong in pongs {
            // A task that ends drops the question, which is an answer, too.
            _ = pong.await;
        }
    }

    /// Stops all extensions at once: each has its time to leave, then is asked by signal, then killed. Events that
    /// were sent before are delivered first, also to one that an event has only just started. Gates block from here on,
    /// for good. What else is starting, or waits for its start, is not waited for.
    pub async fn shutdown(&self) {
        self.deliver_waiting_events().await;
        self.inner.shared.closing.cancel();
        let _turn = self.inner.turnstile.lock().await;
        let entries = self.inner.extensions();
        for entry in entries {
            entry.wait_until_gone().await;
        }
    }

    /// Waits, but not for long, for those that an event has started and that have yet to hear of it.
    async fn deliver_waiting_events(&self) {
        self.inner.shared.pump.distribute();
        let entries = self.inner.extensions();
        let waiting = entries.iter().filter(|entry| entry.has_backlog());
        let settled = async {
            for entry in waiting {
                // An error means that the end has begun.
                _ = entry.ensure_started(&self.inner.shared.closing).await;
            }
        };
        let grace = self.inner.shared.config.timeouts.shutdown_grace;
        // What is not ready by then does not hear of it, as it would not if it were slow.
        _ = timeout(grace, self.inner.shared.closing.run_until_cancelled(settled)).await;
    }
}
