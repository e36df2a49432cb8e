//! An agent with a host of its own.

use std::sync::{Arc, Weak};

use haft_core::{Agent, AgentBuilder, BuildError, ExtensionToolRunner};
use tokio::sync::watch;

use super::host_state::HostState;
use super::{Host, HostBuilder};

impl HostBuilder {
    /// Starts the extensions and builds the agent with their hooks and tools. Then notifies the extensions of the
    /// start of the agent's session. When extensions change their tools, the agent receives them. The tools of the
    /// agent's builder keep their names.
    ///
    /// Each agent needs a host of its own, because an extension knows one session:
    ///
    /// ```
    /// use haft_core::{Agent, BuildError};
    /// use haft_core::model::Model;
    /// use haft_core::session::Session;
    /// use haft_host::{Host, HostConfig};
    /// use haft_packages::discovery::{Discovery, DiscoveryOptions};
    ///
    /// async fn chat(model: impl Model + 'static, session: Session) -> Result<(Agent, Host), BuildError> {
    ///     let config = HostConfig::new("1.0.0", model.info(), "/srv/app");
    ///     let search = DiscoveryOptions { explicit: vec!["/opt/app/guard".into()], ..DiscoveryOptions::default() };
    ///     let host = Host::builder(config).source(move || Discovery::run(&search).into());
    ///     host.start_agent(Agent::builder(model).session(session)).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the agent cannot be built; the extensions are stopped then.
    pub async fn start_agent(mut self, agent: AgentBuilder) -> Result<(Agent, Host), BuildError> {
        self.config.reserved_tools.extend(agent.tool_names());
        let host = self.start().await;
        // Subscribed before the tools are read, so that no change is missed.
        let changes = host.changes();
        let built = agent.hook_source(host.hook_source()).build().and_then(|agent| {
            agent.set_extension_tools(host.tools())?;
            Ok(agent)
        });
        let agent = match built {
            Ok(agent) => agent,
            Err(error) => {
                host.shutdown().await;
                return Err(error);
            }
        };
        host.serve(agent.tool_runner());
        host.session_start(Some(agent.session()));
        tokio::spawn(follow_tools(changes, Arc::downgrade(&host.inner), agent.tool_runner()));
        Ok((agent, host))
    }
}

/// Gives the agent the tools of the extensions whenever they change, as long as both exist.
async fn follow_tools(mut changes: watch::Receiver<u64>, host: Weak<HostState>, runner: ExtensionToolRunner) {
    while changes.changed().await.is_ok() {
        let (Some(inner), Some(agent)) = (host.upgrade(), Agent::of_tool_runner(&runner)) else { return };
        if let Err(error) = agent.set_extension_tools(Host { inner }.tools()) {
            tracing::error!(%error, "cannot set the tools; the agent keeps the previous ones");
        }
    }
}
