//! `SessionResources`: the tools, skills and prompt templates of a session, with those of its extensions.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::prompt::SystemPrompt;
use haft_core::tool::{Tool, ToolSet};
use haft_host::{ExtensionResources, Host};
use haft_protocol::ext::ResourcesReason;
use haft_protocol::ids::ExtensionName;
use haft_rpc::ProgramTools;
use haft_tools::skill_tool;
use tokio::sync::Mutex;

use crate::console::note;
use crate::resources::{PromptResources, SharedResources};

/// The tools, skills and prompt templates of a session. The extensions change them: at the start, and after a reload.
pub(crate) struct SessionResources {
    agent: Agent,
    host: Host,
    /// The tools of haft, without the one that loads skills.
    builtin: Vec<Arc<dyn Tool>>,
    skill_tool: Arc<dyn Tool>,
    /// The system prompt; its skills are replaced.
    system: SystemPrompt,
    /// The texts of the user and the project.
    own: PromptResources,
    current: SharedResources,
    /// The answers of the extensions since the start or the last reload.
    answers: Mutex<Vec<ExtensionResources>>,
}

impl SessionResources {
    /// Gives the agent the texts of the user and the project, and those of the extensions that are ready. Asks the
    /// others when they are.
    pub(crate) async fn start(
        agent: Agent,
        host: Host,
        builtin: Vec<Arc<dyn Tool>>,
        system: SystemPrompt,
        own: PromptResources,
    ) -> anyhow::Result<Arc<Self>> {
        let current = SharedResources::new(own.clone());
        let (skill_tool, answers) = (skill_tool(Arc::new(current.clone())), Mutex::default());
        let session = Arc::new(Self { agent, host, builtin, skill_tool, system, own, current, answers });
        session.agent.set_system_prompt(session.system.clone());
        session.ask_extensions(ResourcesReason::Startup).await;
        session.offer_tools()?;
        if session.host.has_starting_extension() {
            tokio::spawn(Arc::clone(&session).ask_late_extensions());
        }
        Ok(session)
    }

    /// Returns the current skills and templates.
    pub(crate) fn shared_resources(&self) -> SharedResources {
        self.current.clone()
    }

    /// Offers the current tools: the built-in ones, then those of the extensions. The host lets an extension's tool have
    /// the name of a built-in tool only if the user agreed that it replaces that tool.
    pub(crate) fn offer_tools(&self) -> anyhow::Result<()> {
        let mut set = ToolSet::default();
        for tool in self.tools() {
            set.add(tool)?;
        }
        for tool in self.host.tools() {
            set.replace(tool);
        }
        self.agent.set_tools(set)?;
        Ok(())
    }

    async fn ask_late_extensions(self: Arc<Self>) {
        self.host.wait_until_settled().await;
        self.ask_extensions(ResourcesReason::Startup).await;
        if let Err(error) = self.offer_tools() {
            tracing::error!(%error, "cannot set the tools; the agent keeps the previous ones");
        }
    }

    /// Asks the extensions for their files: after a reload all, otherwise those that were not asked yet.
    async fn ask_extensions(&self, reason: ResourcesReason) {
        let mut answers = self.answers.lock().await;
        let known = match reason {
            ResourcesReason::Startup => answers.as_slice(),
            ResourcesReason::Reload => &[],
        };
        let found = self.host.find_resources(reason, known).await;
        if found.is_empty() && reason == ResourcesReason::Startup {
            // Most sessions: no file is read before its first use.
            return;
        }
        let statuses = self.host.statuses();
        let is_new = |name: &ExtensionName| found.iter().any(|answer| answer.extension == *name);
        let exists = |name: &ExtensionName| statuses.iter().any(|status| status.name == *name);
        // The answer of an extension that is starting again still counts.
        answers.retain(|old| exists(&old.extension) && !is_new(&old.extension));
        answers.extend(found.iter().cloned());
        let (mut resources, all) = (self.own.clone(), answers.clone());
        // Reading files can block.
        let extended = tokio::task::spawn_blocking(move || {
            let problems = resources.add_extension_files(&all);
            (resources, problems)
        });
        match extended.await {
            Ok((resources, problems)) => {
                let problems = problems.iter().filter(|(name, _)| is_new(name));
                problems.for_each(|(name, text)| self.host.report_resource(name, text));
                let skills = resources.skill_summaries();
                self.agent.set_system_prompt(self.system.clone().with_skills(skills));
                self.current.replace(resources);
            }
            Err(error) => {
                note(&format!("haft: internal error while reading the files of extensions: {error}"))
            }
        }
    }
}

#[async_trait]
impl ProgramTools for SessionResources {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let loads_skills = !self.current.get().skills.skills.is_empty();
        let skill_tool = loads_skills.then(|| Arc::clone(&self.skill_tool));
        self.builtin.iter().cloned().chain(skill_tool).collect()
    }

    async fn extensions_reloaded(&self) {
        self.ask_extensions(ResourcesReason::Reload).await;
    }
}
