//! Running host calls of the extension. Each call is its own task, which ends soon after it is no longer
//! needed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures::channel::mpsc;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::RequestId;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extension::ActorCommand;
use crate::extension::services::HostCallServer;
use crate::session::HostCallRequest;
use crate::timeouts::CALLS_END;

/// The running host calls of one extension.
pub(super) struct HostCallTasks {
    desk: Option<Arc<HostCallServer>>,
    open: HashMap<RequestId, CancellationToken>,
    all: CancellationToken,
    tasks: TaskTracker,
}

impl HostCallTasks {
    pub(super) fn new(desk: Option<Arc<HostCallServer>>) -> Self {
        Self { desk, open: HashMap::new(), all: CancellationToken::new(), tasks: TaskTracker::new() }
    }

    /// Starts a call; its result arrives as a command.
    pub(super) fn begin(&mut self, wanted: HostCallRequest, to: &Weak<mpsc::UnboundedSender<ActorCommand>>) {
        // Without a server, the session accepts no calls.
        let Some(desk) = self.desk.clone() else { return };
        let (cancel, to) = (self.all.child_token(), Weak::clone(to));
        self.open.insert(wanted.id.clone(), cancel.clone());
        self.tasks.spawn(async move {
            let result = desk.serve(cancel, wanted).await;
            if let Some(to) = to.upgrade() {
                // An extension that ended needs no result.
                _ = to.unbounded_send(ActorCommand::HostCallDone(result));
            }
        });
    }

    pub(super) fn finish(&mut self, id: &RequestId) {
        self.open.remove(id);
    }

    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.open.get(id) {
            cancel.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        if is_up(Defense::Leases) {
            self.all.cancel();
        }
    }

    /// Waits a limited time for the end of all calls.
    pub(super) async fn wait_until_ended(&self) {
        self.tasks.close();
        _ = timeout(CALLS_END, self.tasks.wait()).await;
    }
}
