//! A row of the matrix, and its cases.

use anyhow::Result;
use futures::future::BoxFuture;

use crate::evil::Misbehavior;
use crate::world::{World, WorldSetup};

pub(crate) use crate::skip::skip;
pub(crate) use crate::world::{EVIL, ExpectedFaults};

/// One fault and what must hold all the same.
pub(crate) struct FaultRow {
    /// As in the matrix: `P-01`.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) cases: &'static [FaultCase],
    /// Takes down the defence that the row is about, before the host starts. `None` while there is no way to; an
    /// undefended run counts that as a failure.
    pub(crate) undefend: Option<fn(&mut WorldSetup)>,
}

/// One variant of a row, in a world of its own.
pub(crate) struct FaultCase {
    pub(crate) evil: Misbehavior,
    /// Every `extension_error` of the case: extension and code, in any order.
    pub(crate) expect: ExpectedFaults,
    /// Changes the configuration before the host starts.
    pub(crate) setup: fn(&mut WorldSetup),
    /// The actions and checks while the host runs.
    pub(crate) play: CaseScript,
    /// Without the defence this case has to notice by itself, whatever the others of its row do.
    pub(crate) notices_alone: bool,
}

/// The actions of a case.
pub(crate) type CaseScript = for<'a> fn(&'a mut World) -> BoxFuture<'a, Result<()>>;

/// The defaults of cases.
pub(crate) const CASE: FaultCase = FaultCase {
    evil: Misbehavior::Nobody,
    expect: &[],
    setup: |_| {},
    play: |world| Box::pin(world.wait_for_expected()),
    notices_alone: false,
};
