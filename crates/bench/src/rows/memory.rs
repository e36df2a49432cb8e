//! The private memory of the host for each live extension.
//!
//! Base: a host without extensions, in a separate process like the hosts with extensions.

use anyhow::Result;

use crate::children::{ChildProgram, PipedChild};
use crate::report::{LineGoal, Report, Unit};
use crate::{peers, platform};

const COUNTS: [u32; 3] = [10, 100, 1000];

const EACH: LineGoal = LineGoal { goal: 12e3, gate: 20e3 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    report.set_axis("live extensions");
    let none = private_bytes_of_host(0)?;
    report.add_figure("host of 0, private", Unit::Bytes, none, None);
    for count in COUNTS {
        let each = (private_bytes_of_host(count)? - none) / f64::from(count);
        // With few extensions, memory that is allocated once for all of them would dominate.
        let goal = (count >= 100).then_some(EACH);
        report
            .add_figure(&format!("each of {count}, private"), Unit::Bytes, each, goal)
            .on_curve("each", count.into());
    }
    Ok(())
}

/// Returns the private bytes of a host with `count` extensions.
fn private_bytes_of_host(count: u32) -> Result<f64> {
    let mut host =
        PipedChild::start(&ChildProgram::in_role(&peers::role_with_number(peers::HOST_OF, count))?)?;
    host.line()?;
    platform::private_bytes(host.id())
}
