//! G10: programs that an untrusted project executes.

use anyhow::Result;

use super::{GoalContext, GoalFigure};
use crate::canary::CanaryControl;
use crate::rows::hostile_runs;
use crate::world::World;

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let setup = place.setup("hostile")?;
    GoalContext::runtime()?.block_on(async {
        let control = CanaryControl::new(setup.dir.join("control")).into();
        let mut world = World::start(setup, &[], control).await;
        // An executed program of the project is an error with its name.
        let calls = hostile_runs(&mut world).await;
        let World { host, canary, .. } = world;
        let _ = canary.finish().await;
        host.shutdown().await;
        Ok(vec![match calls? {
            None => GoalFigure::note("SKIP not measured", "strace is not installed"),
            Some(calls) => {
                let what =
                    format!("executed of a project with 8 kinds, of {calls} programs started in 3 runs");
                GoalFigure::new(what, 0, "0", calls > 0)
            }
        }])
    })
}
