//! What is answered when whoever should answer is gone: the interface may wait for it.

use haft_protocol::rpc::Failure;
use haft_tui::app::{Answer, Ask};

/// The answer to a question whose own was lost; none to what is not answered.
pub(super) fn answer(ask: &Ask) -> Option<Answer> {
    let failed = || Failure::other("haft failed here; the log says where. All else goes on");
    Some(match ask {
        Ask::Conversation { session } => Answer::Conversation(session.clone(), Err(failed())),
        Ask::Files => Answer::Files(Vec::new()),
        Ask::Branch => Answer::Branch(None),
        Ask::History => Answer::History(Err(failed())),
        Ask::Image { number, .. } => Answer::Image(*number, Err(failed())),
        Ask::Providers => Answer::Providers(Vec::new()),
        Ask::Login { .. } => Answer::Login(Err(failed())),
        Ask::Logout { .. } => Answer::Logout(Err(failed())),
        Ask::Export { .. } => Answer::Export(Err(failed())),
        Ask::Delete { .. } => Answer::Delete(Err(failed())),
        Ask::Rename { .. } => Answer::Rename(Err(failed())),
        Ask::Trust => Answer::Trust(Err(failed())),
        Ask::Grant { .. } => Answer::Grant(Err(failed())),
        Ask::Shell { number, .. } => Answer::ShellEnd(*number, Err(failed())),
        Ask::Settings => Answer::Settings(Vec::new()),
        Ask::Set { .. } => Answer::Set(Err(failed())),
        Ask::Themes => Answer::Themes(Vec::new()),
        Ask::Remember(_) | Ask::StopShell { .. } => return None,
    })
}
