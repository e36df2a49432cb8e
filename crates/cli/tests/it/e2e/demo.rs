//! `haft demo`: two real extension processes, without a key or network.

use super::running::Running;
use crate::world::World;

#[test]
fn demo_plays_complete_turn() {
    let world = World::new();
    let ran = Running::start(world.command(&["demo"]), None).wait();
    ran.expect(0);
    let (stdout, stderr) = (ran.stdout.as_str(), ran.stderr.as_str());
    assert!(stderr.contains("→ weather {\"city\":\"Berlin\"}"), "{stderr}");
    assert!(stderr.contains("← weather Berlin: "), "{stderr}");
    assert_eq!(stderr.matches("refused by guard").count(), 1, "{stderr}");
    // The listing after the refusal shows that nothing was deleted, and that the gate allows it.
    assert!(stderr.contains("← bash precious.txt"), "{stderr}");
    assert!(stdout.contains("°C") && stdout.contains("nothing was deleted"), "{stdout}");
    assert!(!stderr.contains("haft: extension"), "{stderr}");
    assert!(!world.home().exists(), "a demo leaves nothing behind");
}
