//! Switches off defenses of the product, in builds with `--cfg haft_undefended` only.

pub(crate) use haft_protocol::defense::Defense;

/// True in a build that can switch off defenses.
pub(crate) const CAN_TAKE_DOWN: bool = cfg!(haft_undefended);

/// Switches off a defense for the rest of this process.
#[cfg(haft_undefended)]
pub(crate) fn take_down(defense: Defense) {
    haft_protocol::defense::take_down(defense);
}

/// Never called: this program rejects `--undefended` in a build that cannot switch off defenses.
#[cfg(not(haft_undefended))]
pub(crate) fn take_down(defense: Defense) {
    unreachable!("{defense:?} cannot be switched off in this build");
}

/// Returns the variable that switches off the same defenses in child programs.
#[cfg(haft_undefended)]
pub(crate) fn inherited() -> Option<(String, String)> {
    use haft_protocol::defense::{VARIABLE, taken_down};
    Some((VARIABLE.to_owned(), taken_down()))
}

/// Returns `None`: the defenses of every program are active.
#[cfg(not(haft_undefended))]
pub(crate) const fn inherited() -> Option<(String, String)> {
    None
}
