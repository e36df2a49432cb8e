//! Defences of the product, and taking them down: only in a build with `--cfg haft_undefended`.

pub(crate) use haft_protocol::defence::Defence;

/// True in a build that can take defences down.
pub(crate) const CAN_TAKE_DOWN: bool = cfg!(haft_undefended);

/// Takes a defence down for the rest of this process.
#[cfg(haft_undefended)]
pub(crate) fn take_down(defence: Defence) {
    haft_protocol::defence::take_down(defence);
}

/// Never called: this program refuses `--undefended` in a build that cannot take defences down.
#[cfg(not(haft_undefended))]
pub(crate) fn take_down(defence: Defence) {
    unreachable!("{defence:?} cannot be taken down in this build");
}

/// Returns the variable that takes the same defences down in a program that this one starts.
#[cfg(haft_undefended)]
pub(crate) fn inherited() -> Option<(String, String)> {
    use haft_protocol::defence::{VARIABLE, taken_down};
    Some((VARIABLE.to_owned(), taken_down()))
}

/// Returns nothing: the defences of every program are in place.
#[cfg(not(haft_undefended))]
pub(crate) const fn inherited() -> Option<(String, String)> {
    None
}
