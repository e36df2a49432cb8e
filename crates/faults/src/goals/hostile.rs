//! G10: what is executed of a project that nobody trusts.

use anyhow::Result;

use super::{Figure, Place};
use crate::canary::Control;
use crate::rows::hostile_runs;
use crate::world::World;

pub(super) fn measure(place: &Place) -> Result<Vec<Figure>> {
    let setup = place.setup("hostile")?;
    Place::runtime()?.block_on(async {
        let control = Control::new(setup.dir.join("control")).into();
        let mut world = World::start(setup, &[], control).await;
        // One that was executed is an error that names it.
        let calls = hostile_runs(&mut world).await;
        let World { host, canary, .. } = world;
        let _ = canary.land().await;
        host.shutdown().await;
        Ok(vec![match calls? {
            None => Figure::note("SKIP not measured", "strace is not installed"),
            Some(calls) => {
                let what =
                    format!("executed of a project with 8 kinds, of {calls} programs started in 3 runs");
                Figure::new(what, 0, "0", calls > 0)
            }
        }])
    })
}
