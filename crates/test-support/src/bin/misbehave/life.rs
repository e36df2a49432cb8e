//! Group L: how extensions end.

use std::process::exit;

use serde_json::Value;

use crate::fault::{At, Fault, Then};
use crate::peer::Peer;

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "exit-after-hello", at: At::Greeted, act: |_, _| exit(3) },
    Fault { name: "exit-in-call", at: At::Question, act: exit_in_call },
    Fault { name: "abort-in-call", at: At::Question, act: |_, _| std::process::abort() },
];

fn exit_in_call(peer: &mut Peer, _: &Value) -> Then {
    peer.log("panic: boom");
    exit(3)
}
