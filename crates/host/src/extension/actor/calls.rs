//! Calls that are under way for the extension. Each call is a task of its own, which ends soon when nobody wants it any
//! more.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures::channel::mpsc;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ids::RequestId;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extension::ActorCommand;
use crate::extension::services::HostCallServer;
use crate::session::HostCallRequest;
use crate::timeouts::CALLS_END;

/// See the module.
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

    /// Begins a call; its result comes as a command.
    pub(super) fn begin(&mut self, wanted: HostCallRequest, to: &Weak<mpsc::UnboundedSender<ActorCommand>>) {
        // The session takes no calls where there is no desk.
        let Some(desk) = self.desk.clone() else { return };
        let (cancel, to) = (self.all.child_token(), Weak::clone(to));
        self.open.insert(wanted.id.clone(), cancel.clone());
        self.tasks.spawn(async move {
            let result = desk.serve(cancel, wanted).await;
            if let Some(to) = to.upgrade() {
                // An extension that is gone wants no result.
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
        if is_up(Defence::Leases) {
            self.all.cancel();
        }
    }

    /// Waits until nothing is done for it any more, but not for ever.
    pub(super) async fn wait_until_ended(&self) {
        self.tasks.close();
        _ = timeout(CALLS_END, self.tasks.wait()).await;
    }
}
