//! A row of the matrix, and its cases.

use anyhow::Result;
use futures::future::BoxFuture;

use crate::misbehavior::Misbehavior;
use crate::world::{World, WorldSetup};

pub(crate) use crate::skip::skip;
pub(crate) use crate::world::{EVIL, ExpectedFaults};

/// A misbehavior, and the required behavior of haft.
pub(crate) struct FaultRow {
    /// The id in the matrix, such as `P-01`.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) cases: &'static [FaultCase],
    /// Removes the defense that the row tests, before the host starts. If `None`, an undefended run counts as a
    /// failure.
    pub(crate) undefend: Option<fn(&mut WorldSetup)>,
}

/// One variant of a row, in a separate world.
pub(crate) struct FaultCase {
    pub(crate) evil: Misbehavior,
    /// Every `extension_error` of the case: extension and code, in any order.
    pub(crate) expect: ExpectedFaults,
    /// Changes the configuration before the host starts.
    pub(crate) setup: fn(&mut WorldSetup),
    /// The actions and checks while the host runs.
    pub(crate) play: CaseScript,
    /// True if this case must detect a missing defense even if other cases of the row do.
    pub(crate) notices_alone: bool,
}

/// The actions of a case.
pub(crate) type CaseScript = for<'a> fn(&'a mut World) -> BoxFuture<'a, Result<()>>;

/// The defaults of cases.
pub(crate) const CASE: FaultCase = FaultCase {
    evil: Misbehavior::NoExtension,
    expect: &[],
    setup: |_| {},
    play: |world| Box::pin(world.wait_for_expected()),
    notices_alone: false,
};
